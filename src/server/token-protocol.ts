/** How the protocol begins that is none: what follows is the bearer token of an asker that opens a WebSocket. */
export const TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io.";
