"""An application on an MCP SDK for Python. Reads calls of tools, one JSON object a line; prints their results."""

import asyncio
import json
import os
import sys
import time
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlparse

import mcp
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

SERVER = os.environ["MCP_SERVER"]
IS_SDK_1 = not hasattr(mcp, "Client")
received: "asyncio.Queue[dict[str, str]]" = asyncio.Queue()


TOKENS_FILE = os.environ.get("TOKENS_FILE")
real_time = time.time
ahead = 0.0
time.time = lambda: real_time() + ahead


class Storage(TokenStorage):
    """In a file that other processes share, if TOKENS_FILE names one. The SDK reads it once."""

    tokens = None
    client = None
    expires_at = 0

    def __init__(self):
        if TOKENS_FILE and os.path.exists(TOKENS_FILE):
            with open(TOKENS_FILE) as file:
                shared = json.load(file)
            self.tokens = OAuthToken(**shared["tokens"])
            self.client = OAuthClientInformationFull(**shared["client"])
            self.expires_at = shared["expires_at"]

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        self.expires_at = time.time() + tokens.expires_in
        if TOKENS_FILE:
            client = self.client.model_dump(mode="json", exclude_none=True)
            shared = {"tokens": tokens.model_dump(exclude_none=True), "client": client, "expires_at": self.expires_at}
            with open(TOKENS_FILE, "w") as file:
                json.dump(shared, file)

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


def listen(loop):
    class Callback(BaseHTTPRequestHandler):
        def do_GET(self):
            query = {name: values[0] for name, values in parse_qs(urlparse(self.path).query).items()}
            loop.call_soon_threadsafe(received.put_nowait, query)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Callback)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/callback"


async def open_browser(url):
    if "NO_BROWSER" in os.environ:
        raise PermissionError("the user must sign in again")
    webbrowser.open(url)


async def callback():
    query = await asyncio.wait_for(received.get(), 60)
    if IS_SDK_1:
        return query.get("code", ""), query.get("state")
    from mcp.shared.auth import AuthorizationCodeResult

    return AuthorizationCodeResult(code=query.get("code", ""), state=query.get("state"), iss=query.get("iss"))


def provider(redirect_uri, storage):
    metadata = OAuthClientMetadata(
        client_name="An application in Python",
        redirect_uris=[redirect_uri],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method=os.environ.get("AUTH_METHOD"),
    )
    known = OAuthClientProvider(
        server_url=SERVER,
        client_metadata=metadata,
        storage=storage,
        redirect_handler=open_browser,
        callback_handler=callback,
        client_metadata_url=os.environ.get("CLIENT_DOCUMENT"),
    )
    # The SDK has no stored time of expiry, and would use an expired token after a restart.
    known.context.token_expiry_time = storage.expires_at or None
    return known


async def call(auth, tool, given):
    if IS_SDK_1:
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(SERVER, auth=auth) as (read, write, _), ClientSession(read, write) as session:
            await session.initialize()
            return await session.call_tool(tool, given)
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(auth=auth, timeout=60) as http_client:
        async with mcp.Client(streamable_http_client(SERVER, http_client=http_client)) as client:
            return await client.call_tool(tool, given)


def reason(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def main():
    loop = asyncio.get_running_loop()
    storage = Storage()
    auth = provider(listen(loop), storage)
    global ahead
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        wanted = json.loads(line)
        if "nowMs" in wanted:
            ahead = wanted["nowMs"] / 1000 - real_time()
        try:
            result = await call(auth, wanted.get("tool", "whoami"), wanted.get("given", {}))
            text = "\n".join(part.text for part in result.content)
            said = {"text": text, "expiresAtMs": storage.expires_at * 1000}
        except BaseException as error:
            said = {"error": reason(error)}
        print(json.dumps(said), flush=True)


asyncio.run(main())
