// All pages work without this script. It adds: show password, passkeys and signals about them, copying of codes, and the live list of devices.

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Show password

for (const input of all("input[data-show]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "link reveal";
  button.textContent = input.dataset.show;
  button.setAttribute("aria-label", input.dataset.label);
  button.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-controls", input.id);
  button.addEventListener("click", () => {
    const shows = input.type === "password";
    input.type = shows ? "text" : "password";
    button.textContent = shows ? input.dataset.hide : input.dataset.show;
    button.setAttribute("aria-pressed", String(shows));
  });
  // Browsers offer to save a password only if it is one when the form is sent.
  input.form.addEventListener("submit", () => { input.type = "password"; });
  input.after(button);
}

// Focus: screen readers do not announce an alert that was there from the start, so it is focused. A page with an autofocus needs no other.

const summary = document.querySelector(".notice[role=alert]");
if (summary) {
  summary.tabIndex = -1;
  summary.focus();
} else if (matchMedia("(pointer: fine)").matches && !document.querySelector("[autofocus]")) {
  all(".card input[required]").find((input) => !input.value)?.focus();
}
// On a phone the menu scrolls sideways.
document.querySelector(".menu [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });

// Passkeys

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
const base64url = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const withBytes = (list) => list?.map((item) => ({ ...item, id: bytes(item.id) }));

function requestOptions(json) {
  if (PublicKeyCredential.parseRequestOptionsFromJSON) return PublicKeyCredential.parseRequestOptionsFromJSON(json);
  return { ...json, challenge: bytes(json.challenge), allowCredentials: withBytes(json.allowCredentials) };
}

function creationOptions(json) {
  if (PublicKeyCredential.parseCreationOptionsFromJSON) return PublicKeyCredential.parseCreationOptionsFromJSON(json);
  return {
    ...json,
    challenge: bytes(json.challenge),
    user: { ...json.user, id: bytes(json.user.id) },
    excludeCredentials: withBytes(json.excludeCredentials),
  };
}

function credentialJSON(credential) {
  if (credential.toJSON) return credential.toJSON();
  const { id, rawId, type, authenticatorAttachment, response: from } = credential;
  const response = { clientDataJSON: base64url(from.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (from[name]) response[name] = base64url(from[name]);
  }
  if (from.getTransports) response.transports = from.getTransports();
  return {
    id, rawId: base64url(rawId), type, authenticatorAttachment, response,
    clientExtensionResults: credential.getClientExtensionResults(),
  };
}

function submitAs(action, form, credential) {
  if (credential !== undefined) form.elements.passkey.value = JSON.stringify(credentialJSON(credential));
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = "action";
  field.value = action;
  form.append(field);
  // Without the check of the form: the fields for email and password stay empty.
  form.submit();
}

const askForOptions = ({ form, dataset }) => fetch(dataset.options, {
  method: "POST", headers: { "X-CSRF-Token": form.elements.csrf.value, Accept: "application/json" },
});

// The browser offers passkeys where it offers passwords, at the field for the address, until another way in is used.
let endOffer = async () => {};

function offerPasskeys(button) {
  const stop = new AbortController();
  const offer = async () => {
    if (!await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
    const response = await askForOptions(button);
    if (!response.ok || stop.signal.aborted) return;
    const credential = await navigator.credentials.get({
      publicKey: requestOptions(await response.json()), mediation: "conditional", signal: stop.signal,
    });
    if (!stop.signal.aborted) submitAs("passkey", button.form, credential);
  };
  // The user has asked for nothing, so nothing is reported.
  const ended = offer().catch(() => {});
  endOffer = () => { stop.abort(); return ended; };
}

async function usePasskey(button) {
  const { form, dataset } = button;
  const status = form.querySelector(".passkey-status");
  status.textContent = "";
  button.disabled = true;
  // Browsers refuse a second request.
  await endOffer();
  try {
    const creates = dataset.passkey === "create";
    const response = await askForOptions(button);
    // The proof that the page was shown with has expired.
    if (response.status === 403 && creates) return submitAs("unlock", form);
    if (!response.ok) throw new Error(response.statusText);
    const json = await response.json();
    const credential = creates
      ? await navigator.credentials.create({ publicKey: creationOptions(json) })
      : await navigator.credentials.get({ publicKey: requestOptions(json) });
    submitAs(creates ? "add-passkey" : "passkey", form, credential);
  } catch (error) {
    const words = { NotAllowedError: dataset.cancelled, InvalidStateError: dataset.exists };
    status.textContent = words[error.name] ?? dataset.failed;
    button.disabled = false;
    if ("offer" in dataset) offerPasskeys(button);
  }
}

for (const button of all("[data-passkey]")) {
  if (window.PublicKeyCredential) {
    button.disabled = false;
    button.addEventListener("click", () => usePasskey(button));
    if ("offer" in button.dataset) {
      button.form.addEventListener("submit", () => { endOffer(); });
      offerPasskeys(button);
    }
  } else {
    button.form.querySelector(".passkey-status").textContent = button.dataset.unsupported;
  }
}

// Signals to the browser's password manager: which passkeys are accepted, and under which name

async function signal(name, details) {
  // Hints: nothing depends on them, and not every browser has them.
  try { await window.PublicKeyCredential?.[name]?.(details); } catch {}
}

for (const { dataset } of all("[data-unknown-passkey]")) {
  signal("signalUnknownCredential", { rpId: dataset.domain, credentialId: dataset.unknownPasskey });
}
for (const section of all("[data-user]")) {
  const { domain: rpId, user: userId, name, displayName } = section.dataset;
  const ids = all("input[name=passkey_id]", section).map((input) => input.value);
  signal("signalAllAcceptedCredentials", { rpId, userId, allAcceptedCredentialIds: ids });
  signal("signalCurrentUserDetails", { rpId, userId, name, displayName });
}

// Recovery codes

for (const button of all("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const codes = all("code", document.getElementById(button.dataset.copy)).map((code) => code.textContent);
    await navigator.clipboard.writeText(codes.join("\n"));
    button.closest("section").querySelector("[role=status]").textContent = button.dataset.done;
  });
}
for (const button of all("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// Live list of devices

const devices = document.getElementById("devices");
if (devices?.dataset.live) follow(devices);

function follow(list) {
  const dot = document.querySelector(".live");
  const leave = () => location.assign(list.dataset.signIn);
  // The first stream goes on from the page as it was written.
  let isNew = true;

  function show(isOn) {
    dot.hidden = false;
    dot.classList.toggle("on", isOn);
    dot.textContent = isOn ? dot.dataset.on : dot.dataset.off;
  }

  async function refresh() {
    const response = await fetch(list.dataset.fragment, { headers: { "X-Requested-With": "fetch" } });
    if (response.status === 401 || response.redirected) return leave();
    if (response.ok) update(list, await response.text());
  }

  function connect() {
    const stream = new EventSource(list.dataset.live);
    stream.addEventListener("open", () => {
      show(true);
      if (!isNew) refresh().catch(() => {});
      isNew = false;
    });
    for (const name of ["session-established", "session-revoked", "credential-change", "account-disabled", "account-purged"]) {
      stream.addEventListener(name, (event) => {
        if (name === "session-revoked" && JSON.parse(event.data).current) return leave();
        refresh().catch(() => {});
      });
    }
    stream.addEventListener("error", () => {
      show(false);
      // The browser reconnects by itself, but not after a response other than 200.
      if (stream.readyState !== EventSource.CLOSED) return;
      refresh().catch(() => {});
      setTimeout(connect, 10_000);
    });
  }
  connect();
}

// Replaces only the rows that changed: the focus stays where it is, and screen readers hear only what is new.
function update(list, html) {
  const rows = list.querySelector("ul");
  const focused = rows.contains(document.activeElement) ? document.activeElement : null;
  const fresh = all("li", new DOMParser().parseFromString(html, "text/html")).map((row) => {
    const old = document.getElementById(row.id);
    if (!old) return row;
    if (old.querySelector("details")?.open) row.querySelector("details")?.setAttribute("open", "");
    const times = all("time", row);
    all("time", old).forEach((time, index) => { if (times[index]) time.replaceWith(times[index].cloneNode(true)); });
    return old.outerHTML === row.outerHTML ? old : row;
  });
  for (const row of [...rows.children]) if (!fresh.includes(row)) row.remove();
  fresh.forEach((row, index) => {
    if (rows.children[index] !== row) rows.insertBefore(row, rows.children[index] ?? null);
  });
  if (focused && !rows.contains(document.activeElement)) document.getElementById(focused.id)?.focus({ preventScroll: true });
  if (focused && !rows.contains(document.activeElement)) {
    const title = document.querySelector("h1");
    title.tabIndex = -1;
    title.focus();
  }
}
