/** Prefix of the WebSocket subprotocol that carries a client's bearer token. */
export const TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io.";
