"""A person at a browser, who keeps cookies, follows redirects and fills in forms, without script."""
import html, http.client, re, urllib.parse


class Lost(Exception):
    """Something is not as it has to be."""


def require(condition, words):
    if not condition:
        raise Lost(words)


class Page:
    def __init__(self, url, status, headers, text):
        self.url, self.status, self.headers, self.text = url, status, headers, text
        title = re.search(r"<title>([^<]*)</title>", text)
        self.title = html.unescape(title.group(1)).split(" · ")[0] if title else ""

    def hidden(self):
        """The hidden fields of the first form."""
        form = self.text.split("<form", 1)[-1].split("</form>", 1)[0]
        fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
        return {name: html.unescape(value) for name, value in fields}

    def has(self, action):
        return f'value="{action}"' in self.text


class Person:
    def __init__(self, email, password):
        self.email, self.password, self.cookies = email, password, {}
        self.seen = []

    def load(self, method, url, fields=None, headers={}):
        """One request, without following its answer."""
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        jar = self.cookies.setdefault(parts.netloc, {})
        sent = {"Accept": "text/html,*/*", **headers}
        if jar:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in jar.items())
        body = None
        if fields is not None:
            body = urllib.parse.urlencode(fields)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, (parts.path or "/") + ("?" + parts.query if parts.query else ""), body, sent)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, value = cookie.split(";", 1)[0].split("=", 1)
            if "max-age=0" in cookie.lower() or not value or "01 Jan 1970" in cookie:
                jar.pop(name, None)
            else:
                jar[name] = value
        connection.close()
        return Page(url, answer.status, answer.headers, text)

    def open(self, url, until=None, method="GET", fields=None):
        """Follows redirects until a page, or an address that begins with `until`, which is not loaded."""
        for _ in range(20):
            page = self.load(method, url, fields)
            self.seen.append((page.status, page.title or url.split("?")[0]))
            if page.status not in (301, 302, 303, 307, 308):
                return page
            url = urllib.parse.urljoin(url, page.headers["Location"])
            if until and url.startswith(until):
                return Page(url, 0, {}, "")
            method, fields = "GET", None
        raise Lost(f"too many redirects: {self.seen[-20:]}")

    def submit(self, page, action, until=None, **fields):
        """Sends the form of a page."""
        return self.open(page.url, until, "POST", {**page.hidden(), **fields, "action": action})

    def pass_through(self, url, until=None):
        """Opens an address of an application, signs in and allows what it asks for."""
        return self.go_on(self.open(url, until), until)

    def go_on(self, page, until=None):
        """From a page of the server."""
        for _ in range(4):
            if page.has("sign-in"):
                page = self.submit(page, "sign-in", until, email=self.email, password=self.password)
            elif page.has("allow"):
                page = self.submit(page, "allow", until)
            else:
                return page
        return page


def fields(url):
    """The query of an address."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
