/**
 * **CORS for clients in browsers**, of any origin: a request is authenticated by its token, never by a cookie. A header that the
 * application has set is kept.
 */
export function addCors(request: Request, response: Response): Response {
  const origin = request.headers.get("Origin");
  // The socket of an upgraded connection cannot be copied.
  if (origin === null || response.status === 101) return response;
  const withCors = new Response(response.body, response);
  const { headers } = withCors;
  if (!headers.has("Access-Control-Allow-Origin")) {
    headers.set("Access-Control-Allow-Origin", "*");
    headers.append("Access-Control-Expose-Headers", "WWW-Authenticate, DPoP-Nonce, Retry-After, Mcp-Session-Id");
  }
  return withCors;
}

export function preflightResponse(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Methods": "*",
      // Fetch §4.9: the wildcard does not cover Authorization.
      "Access-Control-Allow-Headers": "Authorization, *",
      "Access-Control-Max-Age": "86400",
    },
  });
}
