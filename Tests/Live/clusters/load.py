"""Honest clients, who sign in, refresh and sign out, and thieves. They write down what was acknowledged."""
import collections, http.client, random, threading, time

from kit import web
from kit.web import rotation_key

# A moment: its time, the sessions that had begun, the tokens of those that lived, and the number of ends.
Mark = collections.namedtuple("Mark", "at sessions tokens ends")


class Session:
    """One session, as its client has it."""

    def __init__(self, answer, asked):
        # When its sign-in was sent.
        self.asked = asked
        self.id, self.token, self.access, self.pending = answer["session_id"], answer["refresh_token"], answer["access_token"], None
        # Set once an end was asked for, and once it was acknowledged.
        self.is_ending = self.is_ended = False
        self.lock = threading.Lock()


class Client(web.Client):
    """Sends requests to one place, which is a proxy or a node. Without an answer there is `None` instead."""
    retries = False

    def __init__(self, place, timeout=20):
        super().__init__(place, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        try:
            return super().request(method, path, body, headers)
        except (OSError, http.client.HTTPException):
            self.close()
            return None

    def begin(self):
        """The answer to a sign-in as a guest."""
        return self.post("/v1/sign-in/anonymous", dict(device=web.install("d-" + rotation_key())))

    def me(self, access):
        return self.get("/v1/me", Authorization="Bearer " + access)

    def sign_out(self, access):
        return self.post("/v1/sign-out", Authorization="Bearer " + access)

    def events(self, access, after=None):
        """An event stream that is open, and what closes it."""
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=self.timeout)
        headers = {"Authorization": "Bearer " + access, "Accept": "text/event-stream"}
        connection.request("GET", "/v1/events", None, headers | ({"Last-Event-ID": str(after)} if after else {}))
        response = connection.getresponse()
        response.readline()
        return response, connection.close


class Load:
    """The load on a cluster, and the record of it."""

    def __init__(self, place):
        self.place = place
        self.lock, self.stopping, self.threads = threading.Lock(), threading.Event(), []
        self.sessions, self.ended, self.violations = [], [], []
        self.counts = dict(refreshes=0, sign_ins=0, ends=0, unavailable=0, failed=0)
        self.last_good, self.longest_gap, self.latencies = time.monotonic(), 0, []

    def client(self):
        return Client(self.place)

    def count(self, name, began=None):
        with self.lock:
            self.counts[name] += 1
            now = time.monotonic()
            if name == "refreshes":
                self.longest_gap = max(self.longest_gap, now - self.last_good)
                self.last_good = now
            if began:
                self.latencies.append(now - began)

    def wrong(self, text):
        with self.lock:
            self.violations.append(text)

    def sign_in(self, client):
        asked = time.time()
        answer = client.begin()
        if not self.is_good(answer, 201):
            return None
        session = Session(answer.json, asked)
        with self.lock:
            self.sessions.append(session)
        self.count("sign_ins")
        return session

    def is_good(self, answer, status):
        """Whether a request was answered as it should. Counts what a client has to try again."""
        if answer and answer.status == status:
            return True
        if answer == None:
            self.count("failed")
        elif answer.status in (502, 503, 504):
            self.count("unavailable")
        return False

    def refresh(self, client, session):
        """One attempt. The rotation key stays until there is an answer."""
        with session.lock:
            if session.is_ending:
                return
            session.pending = session.pending or rotation_key()
            began = time.monotonic()
            answer = client.refresh(session.token, session.pending)
            if self.is_good(answer, 200):
                content = answer.json
                session.token, session.access, session.pending = content["refresh_token"], content["access_token"], None
                self.count("refreshes", began)
            elif answer and answer.status == 400:
                self.wrong(f"an honest client was signed out: {answer.text}")
                session.is_ending = True

    def end(self, client, session):
        with session.lock:
            if session.is_ended:
                return
            is_repeated, session.is_ending = session.is_ending, True
            answer = client.sign_out(session.access)
            if answer and answer.status == 401 and not is_repeated:
                self.wrong("a session had ended before its client signed out")
            # A repeated sign-out finds the session ended.
            if self.is_good(answer, 204) or answer and answer.status == 401:
                session.is_ended = True
                with self.lock:
                    self.ended.append(session)
                self.count("ends")

    def start(self, refreshers=4, signers=4):
        def refresh():
            client = self.client()
            while not self.stopping.is_set():
                session = self.pick()
                if session:
                    self.refresh(client, session)
                else:
                    time.sleep(0.01)
                if client.connection == None:
                    time.sleep(0.02)

        def sign():
            client = self.client()
            while not self.stopping.is_set():
                if len(self.sessions) < 4000:
                    self.sign_in(client)
                # During an outage no further ends begin, or no session would be left to ask for.
                unfinished = [one for one in self.sessions if one.is_ending and not one.is_ended]
                for one in unfinished[:3]:
                    self.end(client, one)
                session = self.pick()
                if session and not unfinished and random.random() < 0.5:
                    self.end(client, session)
                time.sleep(0.005)

        for body, number in ((refresh, refreshers), (sign, signers)):
            for _ in range(number):
                thread = threading.Thread(target=body, daemon=True)
                thread.start()
                self.threads.append(thread)

    def pick(self):
        with self.lock:
            return random.choice(self.sessions) if self.sessions else None

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
        self.threads = []
        self.stopping = threading.Event()

    def take(self):
        """The counts since the last call."""
        with self.lock:
            counts, self.counts = self.counts, dict.fromkeys(self.counts, 0)
            gap, self.longest_gap, latencies, self.latencies = self.longest_gap, 0, sorted(self.latencies), []
            self.last_good = time.monotonic()
        return counts, gap, latencies

    def audit(self, nodes, sample=150):
        """Asks every node for what was acknowledged: sessions live, ends ended, and a thief found."""
        clients = [Client(node) for node in nodes]
        with self.lock:
            live = [one for one in self.sessions if not one.is_ending]
            ended = list(self.ended)
        if len(live) < 5:
            self.wrong(f"only {len(live)} sessions are left to ask for")
        for session in random.sample(live, min(len(live), sample)):
            client = random.choice(clients)
            for _ in range(20):
                before = self.counts["refreshes"]
                self.refresh(client, session)
                if self.counts["refreshes"] > before or session.is_ending:
                    break
                time.sleep(0.1)
            else:
                self.wrong("an acknowledged session cannot be refreshed")
        for session in random.sample(ended, min(len(ended), sample)):
            for client in clients:
                answer = client.me(session.access)
                if answer == None or answer.status != 401:
                    self.wrong(f"an ended session is alive: {answer and answer.status}")
            answer = random.choice(clients).refresh(session.token, session.pending or rotation_key())
            if answer == None or answer.status != 400:
                self.wrong(f"an ended session is refreshed: {answer and answer.status}")
        self.thief(clients)

    def mark(self):
        """What a restore of the database to this moment has to bring back."""
        with self.lock:
            return Mark(time.time(), set(self.sessions), {one: one.token for one in self.sessions if not one.is_ending}, len(self.ended))

    def audit_restored(self, nodes, mark):
        """Sign-ins since the mark are lost, and nothing else is. Returns how many, and how many ends and thefts it found."""
        clients, lost = [Client(node) for node in nodes], []
        for session in [one for one in self.sessions if one not in mark.sessions]:
            client = random.choice(clients)
            answer = client.refresh(session.token, session.pending or rotation_key())
            # One that was asked for before the mark may be there.
            if session.asked > mark.at and (answer == None or answer.status != 400 or client.me(session.access).status != 401):
                self.wrong(f"a session that began after the time of the restore is alive: {answer}")
            lost.append(session)
        with self.lock:
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
        if answers[0] and answers[0].status == 200:
            answers.append(clients[2].refresh(answers[0].json["refresh_token"], rotation_key()))
        is_found = any(answer and answer.status == 400 and b"token_reuse" in answer.body for answer in answers)
        if answers[-1 if len(answers) == 3 else 0].status != 400 or not is_found and answers[1].status != 200:
            self.wrong(f"a thief goes on after the restore, or its victim does not: {[answer and answer.status for answer in answers]}")
        return is_found

    def thief(self, clients):
        """A copied token is presented at another node, after its owner has used it."""
        owner = self.sign_in(clients[0])
        if not owner:
            return self.wrong("no sign-in for the test of theft")
        copied = owner.token
        self.refresh(clients[1 % len(clients)], owner)
        answer = clients[2 % len(clients)].refresh(copied, rotation_key())
        owner.is_ending = True
        if answer == None or answer.status != 400 or b"token_reuse" not in answer.body:
            return self.wrong(f"a theft is not found: {answer}")
        answer = clients[0].refresh(owner.token, rotation_key())
        if answer == None or answer.status != 400:
            self.wrong("a stolen session goes on")
