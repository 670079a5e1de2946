"""Honest clients, who sign in, refresh and sign out, and thieves. They write down what was acknowledged."""
import collections, http.client, random, threading, time, types

from kit import web
from kit.web import bearer, require, rotation_key, until

# A moment: its time, the sessions that had begun, the tokens of those that lived, and the number of ends.
Mark = collections.namedtuple("Mark", "at sessions tokens ends")
NO_ANSWER = types.SimpleNamespace(status=0, body=b"", text="no answer", json={})


class Session:
    """One session, as its client has it."""

    def __init__(self, answer, asked):
        # When its sign-in was sent.
        self.asked = asked
        self.token, self.access, self.pending = answer["refresh_token"], answer["access_token"], None
        # Set once an end was asked for, and once it was acknowledged.
        self.is_ending = self.is_ended = False
        self.lock = threading.Lock()


class Client(web.Client):
    """Sends requests to one place, which is a proxy or a node, and none a second time."""
    retries = False

    def request(self, method, path, body=None, headers=None):
        try:
            return super().request(method, path, body, headers)
        except (OSError, http.client.HTTPException):
            self.close()
            time.sleep(0.02)
            return NO_ANSWER

    def me(self, session):
        return self.get("/v1/me", Authorization=bearer(dict(access_token=session.access)))

    def events(self, session, after=None):
        """An event stream that is open."""
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=self.timeout)
        headers = {"Authorization": "Bearer " + session.access, "Accept": "text/event-stream"}
        connection.request("GET", "/v1/events", None, headers | ({"Last-Event-ID": str(after)} if after else {}))
        response = connection.getresponse()
        response.readline()
        return response


class Load:
    """The load on a cluster, and the record of it."""

    def __init__(self, place):
        self.place, self.lock, self.stopping, self.threads = place, threading.Lock(), threading.Event(), []
        self.sessions, self.ended, self.violations, self.counts = [], [], [], collections.Counter()

    def take(self):
        """The counts since the last call."""
        with self.lock:
            counts, self.counts = self.counts, collections.Counter()
        return counts

    def count(self, name):
        with self.lock:
            self.counts[name] += 1

    def is_good(self, answer, status):
        """Whether a request was answered as it should. Counts what a client has to try again."""
        if answer.status in (0, 502, 503, 504):
            self.count("unavailable" if answer.status else "unanswered")
        return answer.status == status

    def sign_in(self, client):
        """A new guest's session; `None` if it was not acknowledged."""
        asked = time.time()
        answer = client.post("/v1/sign-in/anonymous", dict(device=web.install("d-" + rotation_key())))
        if not self.is_good(answer, 201):
            return None
        session = Session(answer.json, asked)
        self.sessions.append(session)
        self.count("sign_ins")
        return session

    def signed_in(self, client):
        return until(lambda: self.sign_in(client), "no sign-in is acknowledged")

    def refresh(self, client, session):
        """One attempt, if the session goes on. The rotation key stays until there is an answer. Returns whether there was a right one."""
        with session.lock:
            if session.is_ending:
                return False
            session.pending = session.pending or rotation_key()
            answer = client.refresh(session.token, session.pending)
            if self.is_good(answer, 200):
                session.token, session.access, session.pending = answer.json["refresh_token"], answer.json["access_token"], None
                self.count("refreshes")
            elif answer.status == 400:
                self.violations.append(f"an honest client was signed out: {answer.text}")
                session.is_ending = True
            return answer.status == 200

    def end(self, client, session):
        with session.lock:
            if session.is_ended:
                return
            is_repeated, session.is_ending = session.is_ending, True
            answer = client.post("/v1/sign-out", Authorization="Bearer " + session.access)
            if answer.status == 401 and not is_repeated:
                self.violations.append("a session had ended before its client signed out")
            # A repeated sign-out finds the session ended.
            if self.is_good(answer, 204) or answer.status == 401:
                session.is_ended = True
                self.ended.append(session)
                self.count("ends")

    def start(self):
        def refresh(client):
            self.refresh(client, random.choice(self.sessions))

        def sign(client):
            if len(self.sessions) < 4000:
                self.sign_in(client)
            # During an outage no further ends begin, or no session would be left to ask for.
            unfinished = [one for one in self.sessions if one.is_ending and not one.is_ended][:3]
            for one in unfinished or random.sample(self.sessions, random.randrange(2)):
                self.end(client, one)
            time.sleep(0.005)

        def repeat(body, client):
            while not self.stopping.is_set():
                body(client)

        self.stopping.clear()
        self.threads = [threading.Thread(target=repeat, args=(body, Client(self.place)), daemon=True) for body in (refresh, sign) * 4]
        for thread in self.threads:
            thread.start()

    def flow(self, count=200):
        """Until so many more refreshes were acknowledged."""
        wanted = self.counts["refreshes"] + count
        until(lambda: self.counts["refreshes"] >= wanted, "the load does not get through", 120)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
        self.threads = []

    def audit(self, nodes, sample=150):
        """Asks every node for what was acknowledged: sessions live, ends ended, and a thief found."""
        clients = [Client(node) for node in nodes]
        live, ended = [one for one in self.sessions if not one.is_ending], list(self.ended)
        require(len(live) >= 5, f"only {len(live)} sessions are left to ask for")
        for session in random.sample(live, min(len(live), sample)):
            client = random.choice(clients)
            until(lambda: self.refresh(client, session) or session.is_ending, "an acknowledged session cannot be refreshed")
        for session in random.sample(ended, min(len(ended), sample)):
            for client in clients:
                answer = client.me(session)
                require(answer.status == 401, f"an ended session is alive: {answer.status}")
            answer = random.choice(clients).refresh(session.token, session.pending or rotation_key())
            require(answer.status == 400, f"an ended session is refreshed: {answer.status}")
        self.thief(clients)

    def thief(self, clients):
        """A copied token is presented at another node, after its owner has used it."""
        owner = self.signed_in(clients[0])
        copied = owner.token
        self.refresh(clients[1 % len(clients)], owner)
        answer = clients[2 % len(clients)].refresh(copied, rotation_key())
        owner.is_ending = True
        require(answer.status == 400 and b"token_reuse" in answer.body, f"a theft is not found: {answer.text}")
        require(clients[0].refresh(owner.token, rotation_key()).status == 400, "a stolen session goes on")

    def mark(self):
        """What a restore of the database to this moment has to bring back."""
        return Mark(time.time(), set(self.sessions), {one: one.token for one in list(self.sessions) if not one.is_ending}, len(self.ended))

    def audit_restored(self, nodes, mark):
        """Sign-ins since the mark are lost, and nothing else is. Returns how many, and how many ends and thefts it found."""
        clients, lost = [Client(node) for node in nodes], [one for one in self.sessions if one not in mark.sessions]
        for session in lost:
            client = random.choice(clients)
            answer = client.refresh(session.token, session.pending or rotation_key())
            # One that was asked for before the mark may be there.
            require(session.asked <= mark.at or answer.status == 400 and client.me(session).status == 401,
                    f"a session that began after the time of the restore is alive: {answer.text}")
        self.sessions = [one for one in self.sessions if one in mark.sessions]
        copies = [(one, token) for one, token in mark.tokens.items() if not one.is_ending and one.token != token]
        # The others are left for the audit.
        thefts = [self.late_thief(clients, *copy) for copy in random.sample(copies, min(len(copies) // 3, 20))]
        self.audit(nodes, sample=len(mark.sessions) + len(self.ended))
        return len(lost), sum(one in mark.sessions for one in self.ended[mark.ends:]), f"{sum(thefts)} of {len(thefts)}"

    def late_thief(self, clients, owner, copied):
        """A copied token is used that the restored database has as the current one; its owner has newer ones. The two do not both go on.
        Returns whether the theft was found: after several lost rotations the copy is only refused."""
        owner.is_ending = True
        answers = [clients[0].refresh(copied, rotation_key()), clients[1].refresh(owner.token, owner.pending or rotation_key())]
        if answers[0].status == 200:
            answers.append(clients[2].refresh(answers[0].json["refresh_token"], rotation_key()))
        is_found = any(answer.status == 400 and b"token_reuse" in answer.body for answer in answers)
        require(answers[-1 if len(answers) == 3 else 0].status == 400 and (is_found or answers[1].status == 200),
                f"a thief goes on after the restore, or its victim does not: {[answer.status for answer in answers]}")
        return is_found
