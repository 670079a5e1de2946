"""A program that uses MCP servers with the reference SDK. It gets a job as JSON and prints what came of it: `server` is a URL, or the command of a
local server; `token` is for a URL; `mode` is that of the client; `calls` are the tools with their arguments, `seconds` how long they are repeated; texts in the arguments are as long as `times` says."""
import asyncio, json, os, statistics, sys, time

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def place(server, token):
    if isinstance(server, str):
        return streamable_http_client(server, http_client=create_mcp_http_client(headers={"Authorization": "Bearer " + token}))
    return StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))


async def main(job):
    told, times, errors = [], [], []
    async with Client(place(job["server"], job.get("token")), mode=job.get("mode", "auto")) as client:
        print(json.dumps(dict(ready=[tool.name for tool in (await client.list_tools()).tools])), flush=True)
        end = time.monotonic() + job.get("seconds", 0)
        while True:
            for name, arguments in job["calls"]:
                arguments = {key: value * job.get("times", 1) if isinstance(value, str) else value for key, value in arguments.items()}
                if job.get("waits"):
                    await asyncio.to_thread(sys.stdin.readline)
                began = time.monotonic()
                try:
                    result = await client.call_tool(name, arguments)
                    text = result.content[0].text
                    times.append(time.monotonic() - began)
                    told.append(text)
                except Exception as error:
                    text = "error: " + str(error)
                    errors.append(text)
                if job.get("waits"):
                    print(json.dumps(dict(told=text)), flush=True)
            if time.monotonic() >= end:
                break
            await asyncio.sleep(job.get("pause", 0.05))
    print(json.dumps(dict(
        count=len(told), wrong=[text for text in told if text not in job.get("right", told)], errors=errors,
        median=statistics.median(times) * 1000 if times else None)), flush=True)


asyncio.run(main(json.loads(sys.argv[1])))
