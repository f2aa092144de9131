/**
 * **The metadata of a protected resource** (RFC 9728): the document and its location. For a resource with a path, that path follows the well-known
 * one (§3.1), where clients look for it.
 */
export interface ProtectedResourceMetadata {
  /** The resource identifier: the audience of its tokens, with its path. An http URL is accepted only on a loopback host. */
  readonly resource: string;
  /** Issuers of the resource's tokens. */
  readonly authorization_servers: readonly string[];
  readonly resource_name?: string;
  /** All scopes that clients may request; by default `requiredScopes`. */
  readonly scopes_supported?: readonly string[];
  readonly resource_documentation?: string;
  readonly resource_policy_uri?: string;
  readonly resource_tos_uri?: string;
}

const wellKnown = "/.well-known/oauth-protected-resource";
/** RFC 6749 §3.3 */
const scopeToken = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

export function isScope(value: unknown): value is string {
  return typeof value === "string" && scopeToken.test(value);
}

/** The URL of the metadata of a resource. */
export function protectedResourceMetadataUrl(resource: string): string {
  const { origin, pathname, search } = new URL(resource);
  return `${origin}${wellKnown}${pathname === "/" ? "" : pathname}${search}`;
}

/** Whether a request is for a metadata document of any resource. */
export function isMetadataPath(pathname: string): boolean {
  return pathname === wellKnown || pathname.startsWith(`${wellKnown}/`);
}

/** Throws a `TypeError` for metadata that clients would refuse, when the Worker starts. */
export function checkMetadata(metadata: ProtectedResourceMetadata, requiredScopes: readonly string[]): void {
  const resource = requireUrl("resource", metadata.resource);
  if (isMetadataPath(resource.pathname)) throw new TypeError(`resource: is below ${wellKnown}`);
  if (metadata.authorization_servers.length === 0) throw new TypeError("authorization_servers: none");
  for (const issuer of metadata.authorization_servers) {
    if (requireUrl("authorization_servers", issuer).search !== "") throw new TypeError(`${issuer} has a query`);
  }
  for (const scope of [...requiredScopes, ...(metadata.scopes_supported ?? [])]) {
    if (!isScope(scope)) throw new TypeError(`not a scope: ${JSON.stringify(scope)}`);
  }
}

function requireUrl(name: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isLoopback = url !== undefined && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const isSecure = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback);
  // RFC 9728 §1.2: "no fragment component". Clients cannot match an identifier that a URL parser changes.
  const isCanonical = url !== undefined && (url.href === value || url.origin === value) && !value.includes("#");
  if (url === undefined || !isSecure || !isCanonical || url.username !== "" || url.password !== "") {
    throw new TypeError(`${name}: ${JSON.stringify(value)} is not a canonical https URL without a fragment`);
  }
  return url;
}

/** @see https://www.rfc-editor.org/rfc/rfc9728#section-2 */
export function describeResource(
  metadata: ProtectedResourceMetadata,
  requiredScopes: readonly string[],
  {
    algorithms,
    requiresBoundTokens,
  }: { readonly algorithms: readonly string[]; readonly requiresBoundTokens: boolean },
): Readonly<Record<string, unknown>> {
  // A client requests `offline_access` from the authorization server, not for the resource.
  const scopes = (metadata.scopes_supported ?? requiredScopes).filter((scope) => scope !== "offline_access");
  return {
    ...metadata,
    scopes_supported: scopes.length === 0 ? undefined : scopes,
    bearer_methods_supported: ["header"],
    dpop_signing_alg_values_supported: algorithms,
    dpop_bound_access_tokens_required: requiresBoundTokens ? true : undefined,
  };
}
