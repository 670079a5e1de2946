"""A program that uses a local MCP server with the reference SDK. The first line of its input is a job: the command of the server, the mode of the client,
a tool and its arguments, and for how many seconds it is called; then it tells what was said, and how often. Without a time it calls once for each further line."""
import asyncio, collections, json, os, sys, time

from mcp import Client, StdioServerParameters


async def main(command, mode, tool, arguments, seconds):
    async with Client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)), mode=mode) as client:
        async def call():
            try:
                return (await client.call_tool(tool, arguments)).content[0].text
            except Exception as error:
                return "error: " + str(error)

        print(json.dumps([each.name for each in (await client.list_tools()).tools]), flush=True)
        if not seconds:
            while await asyncio.to_thread(sys.stdin.readline):
                print(json.dumps(await call()), flush=True)
            return
        told, end = collections.Counter(), time.monotonic() + seconds
        while time.monotonic() < end:
            told[await call()] += 1
            await asyncio.sleep(0.05)
        print(json.dumps(told), flush=True)


asyncio.run(main(*json.loads(sys.stdin.readline())))
