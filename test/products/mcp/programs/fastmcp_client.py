"""An application on fastmcp. Reads calls of tools, one JSON object a line; prints their results."""

import asyncio
import json
import os
import sys
import warnings

from fastmcp import Client
from fastmcp.client.auth import OAuth

warnings.simplefilter("ignore")


async def main():
    loop = asyncio.get_running_loop()
    auth = OAuth(client_metadata_url=os.environ.get("CLIENT_DOCUMENT"))
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        wanted = json.loads(line)
        try:
            async with Client(os.environ["MCP_SERVER"], auth=auth) as client:
                result = await client.call_tool(wanted["tool"], wanted["given"])
                said = {"text": "\n".join(part.text for part in result.content)}
        except BaseException as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


asyncio.run(main())
