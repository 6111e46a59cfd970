/** Files that an image has beside its programs. */
import type { LayerEntry } from "../../../tools/oci.ts";
import { text } from "../../cluster/image-pieces.ts";

/** The source of this module is part of the images. */
export const FILE_SETTINGS_SOURCE = import.meta.filename;

/** A test that mounts the image as a volume looks for this name in it. */
export const OS_RELEASE: readonly LayerEntry[] = [
  text("etc/os-release", 'NAME="Alpine Linux"\nID=alpine\nPRETTY_NAME="Alpine Linux"\n'),
];

const WWW_DATA = 33;

/** What the package's scripts would have made, and upstream's way to serve and to log. */
export const NGINX_SETTINGS: readonly LayerEntry[] = [
  text(
    "etc/nginx/nginx.conf",
    `user www-data;
worker_processes 1;
error_log /dev/stderr notice;
pid /run/nginx.pid;
events {}
http {
  include mime.types;
  default_type application/octet-stream;
  access_log /dev/stdout;
  server {
    listen 80;
    root /usr/share/nginx/html;
    index index.html;
  }
}
`,
  ),
  ...["var/lib/nginx", "var/lib/nginx/body", "var/log/nginx", "var/cache/nginx"].map(
    (path): LayerEntry => ({ kind: "directory", path, mode: 0o755, uid: WWW_DATA }),
  ),
  text(
    "usr/share/nginx/html/index.html",
    "<!DOCTYPE html>\n<title>Welcome to nginx!</title>\n<h1>Welcome to nginx!</h1>\n",
  ),
];
