"""A fastmcp server that the provider protects, in the way that AUTH names."""

import os

from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.oidc_proxy import OIDCProxy
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token

ISSUER = os.environ["ISSUER"]
RESOURCE = os.environ["RESOURCE"]
BASE = RESOURCE.removesuffix("/mcp")


def jwt():
    return JWTVerifier(
        jwks_uri=f"{ISSUER}/jwks",
        issuer=ISSUER,
        audience=RESOURCE,
        algorithm="ES256",
        required_scopes=["notes:read"],
    )


def introspection():
    return IntrospectionTokenVerifier(
        introspection_url=f"{ISSUER}/introspect",
        client_id="notes-server",
        client_secret=os.environ["CLIENT_SECRET"],
        audience=RESOURCE,
        required_scopes=["notes:read"],
    )


def remote(verifier):
    return RemoteAuthProvider(token_verifier=verifier, authorization_servers=[ISSUER], base_url=BASE)


def proxy():
    return OIDCProxy(
        config_url=f"{ISSUER}/.well-known/openid-configuration",
        client_id="notes-proxy",
        client_secret=os.environ["CLIENT_SECRET"],
        token_verifier=jwt(),
        base_url=BASE,
    )


auth = {"jwt": lambda: remote(jwt()), "introspection": lambda: remote(introspection()), "proxy": proxy}
server = FastMCP("notes", auth=auth[os.environ["AUTH"]]())


@server.tool
def whoami() -> str:
    token = get_access_token()
    return f"{token.claims.get('sub')}, by {token.client_id}, with {' '.join(token.scopes)}"


server.run(transport="http", host="127.0.0.1", port=int(os.environ["PORT"]), path="/mcp", show_banner=False)
