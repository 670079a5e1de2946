#!/usr/bin/env python3
"""Renders docs/openapi.json to one page without scripts: `apipage.py OUT`. Fails on a reference that does not resolve."""
import html, json, os, re, sys

document = json.load(open("docs/openapi.json"))
STYLE = """:root { color-scheme: light dark } body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
code { font-family: ui-monospace, monospace; font-size: .95em } section { border-top: 1px solid #8886; padding: .5rem 0 }
h3 { margin: .5rem 0 } table { border-collapse: collapse; width: 100% } th, td { border: 1px solid #8886; padding: .25rem .5rem;
text-align: left; vertical-align: top } nav ul { columns: 2; list-style: none; padding: 0 }"""


def text(words):
    """Plain text with code spans."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(words or ""))


def resolved(value):
    while isinstance(value, dict) and "$ref" in value:
        found = document
        for key in value["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        value = found
    return value


def fields(schema):
    """The members of an object as (name, type, is required, description), those of alternatives included."""
    schema, found = resolved(schema), {}
    for part in schema.get("allOf", []) + schema.get("anyOf", []) + schema.get("oneOf", []):
        found |= {row[0]: row for row in fields(part)}
    for name, member in schema.get("properties", {}).items():
        member = resolved(member)
        kind = member.get("type", "value")
        kind = " or ".join(kind) if isinstance(kind, list) else kind
        allowed = member.get("enum") or ([member["const"]] if "const" in member else [])
        words = ", ".join(f"`{value}`" for value in allowed) or member.get("description", "")
        found[name] = (name, kind, name in schema.get("required", []), words)
    return list(found.values())


def table(rows, head):
    if not rows:
        return ""
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def operation(path, method, one):
    parts = [f'<section id="{one["operationId"]}"><h3><code>{method.upper()} {html.escape(path)}</code></h3><p>{text(one.get("summary"))} '
             f'{text(one.get("description"))}</p>']
    given = [resolved(parameter) for parameter in one.get("parameters", [])]
    rows = [(f"<code>{html.escape(p['name'])}</code>", p["in"], "yes" if p.get("required") else "", text(p.get("description"))) for p in given]
    for kind, content in resolved(one.get("requestBody", {})).get("content", {}).items():
        rows += [(f"<code>{html.escape(name)}</code>", f"{kind}, {type}", "yes" if required else "", text(words))
                 for name, type, required, words in fields(content.get("schema", {}))]
    parts.append(table(rows, ["field", "where", "required", "meaning"]))
    rows = []
    for status, response in one["responses"].items():
        response = resolved(response)
        words = []
        for kind, content in response.get("content", {}).items():
            members = {name: about for name, _, _, about in fields(content.get("schema", {}))}
            is_problem = kind == "application/problem+json"
            words.append(f"{kind}: " + (members["code"] if is_problem else ", ".join(f"`{name}`" for name in members)))
        rows.append((f"<code>{status}</code>", text(response.get("description")), "<br>".join(text(line) for line in words)))
    return "".join(parts) + table(rows, ["response", "meaning", "content"]) + "</section>"


groups = {}
for tag in ("accounts", "sessions", "oauth", "documents", "administration", "pages"):
    groups[tag] = []
for path, methods in document["paths"].items():
    for method, one in resolved(methods).items():
        if method in ("get", "put", "post", "delete", "patch", "options", "head"):
            groups.setdefault((one.get("tags") or ["other"])[0], []).append((path, method, one))
contents = "".join(
    f"<h3>{html.escape(tag)}</h3><ul>" + "".join(
        f'<li><a href="#{one["operationId"]}"><code>{method.upper()} {html.escape(path)}</code></a></li>' for path, method, one in ones)
    + "</ul>" for tag, ones in groups.items())
body = "".join(f"<h2>{html.escape(tag)}</h2>" + "".join(operation(*one) for one in ones) for tag, ones in groups.items())
info = document["info"]
page = (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{html.escape(info["title"])}</title><style>{STYLE}</style><h1>{html.escape(info["title"])}</h1>'
        f'<p>{text(info.get("description"))}</p><nav>{contents}</nav>{body}</html>\n')
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
with open(sys.argv[1], "w") as file:
    file.write(page)
print(f"api: {sum(len(ones) for ones in groups.values())} operations in {sys.argv[1]}")
