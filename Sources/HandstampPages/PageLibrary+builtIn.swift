// swift-format-ignore-file
#if Server
extension PageLibrary {
  /// The files in the folder Templates, which are part of the program. Written by `make templates`.
  static let builtIn: [String: String] = [
    "account_activity.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> account_activity.lead}}</p>
<section class="panel" aria-labelledby="activity-title">
  <h2 id="activity-title" class="hear">{{> account_activity.list}}</h2>
  <ol class="rows">
    {{#entries}}
    <li class="row{{#is_warning}} warned{{/is_warning}}">
      <svg class="icon" aria-hidden="true"><use href="#icon-{{icon}}"/></svg>
      <div class="row-text">
        <h3>{{text}}</h3>
        <p>{{#when}}<time datetime="{{iso}}">{{text}}</time>{{/when}}{{#address}} · {{address}}{{/address}}</p>
      </div>
    </li>
    {{/entries}}
    {{^entries}}
    <li class="empty">
      <svg class="icon" aria-hidden="true"><use href="#icon-clock"/></svg>
      <p>{{> account_activity.none}}</p>
    </li>
    {{/entries}}
  </ol>
  {{#more}}
  <p class="more"><a class="button small" href="{{more}}">{{> account_activity.more}}</a></p>
  {{/more}}
</section>
<section class="panel tinted" aria-labelledby="unknown-title">
  <h2 id="unknown-title">{{> account_activity.unknown}}</h2>
  <p class="quiet-text">{{> account_activity.unknown_text}}</p>
  <p class="buttons"><a class="button" href="{{base}}/account/devices">{{> account_activity.check_devices}}</a> <a class="button" href="{{base}}/account/security">{{> account_activity.change_password}}</a></p>
</section>

"""##,
    "account_apps.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> account_apps.lead}}</p>
{{> notice}}
<section class="panel" aria-labelledby="apps-title">
  <h2 id="apps-title" class="hear">{{> account_apps.list}}</h2>
  <ul class="rows">
    {{#apps}}
    <li class="row">
      {{#logo}}<img class="row-logo" src="{{logo}}" alt="">{{/logo}}{{^logo}}<svg class="icon" aria-hidden="true"><use href="#icon-app"/></svg>{{/logo}}
      <div class="row-text">
        <h3>{{name}}</h3>
        <ul class="can">
          {{#scopes}}
          <li>{{.}}</li>
          {{/scopes}}
        </ul>
        <p>{{#since}}{{> account_apps.since}} <time datetime="{{iso}}">{{text}}</time>{{/since}} · {{#used}}{{> common.last_used}} <time datetime="{{iso}}">{{text}}</time>{{/used}}{{^used}}{{> common.never_used}}{{/used}}</p>
      </div>
      <form method="post">
        {{{csrf}}}
        <input type="hidden" name="app" value="{{id}}">
        <button class="button small destructive" name="action" value="remove">{{> account_apps.remove}}<span class="hear"> {{name}}</span></button>
      </form>
    </li>
    {{/apps}}
    {{^apps}}
    <li class="empty">
      <svg class="icon" aria-hidden="true"><use href="#icon-app"/></svg>
      <p><strong>{{> account_apps.none}}</strong></p>
      <p>{{> account_apps.none_text}}</p>
    </li>
    {{/apps}}
  </ul>
</section>

"""##,
    "account_data.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> account_data.lead}}</p>
{{> notice}}
<section class="panel" aria-labelledby="download-title">
  <h2 id="download-title">{{> account_data.download}}</h2>
  <p class="quiet-text">{{> account_data.download_text}}</p>
  <form method="post">
    {{{csrf}}}
    <button class="button" name="action" value="download">{{> account_data.download_button}}</button>
  </form>
</section>
<section class="panel danger-zone" aria-labelledby="delete-title">
  <h2 id="delete-title">{{> account_data.delete}}</h2>
  <p class="quiet-text">{{> account_data.delete_text}}</p>
  <a class="button destructive" href="{{base}}/account/delete">{{> account_data.delete_button}}</a>
</section>

"""##,
    "account_devices.mustache": ##"""
<div class="title-row">
  <h1>{{title}}</h1>
  {{#live}}
  <p class="live" role="status" hidden data-on="{{> account_devices.live}}" data-off="{{> account_devices.waiting}}"></p>
  {{/live}}
</div>
<p class="lead">{{> account_devices.lead}}</p>
{{> notice}}
<section class="panel" aria-labelledby="devices-title">
  <h2 id="devices-title" class="hear">{{> account_devices.list}}</h2>
  <div id="devices" data-live="{{live}}" data-fragment="{{fragment}}" data-sign-in="{{base}}/sign-in" aria-live="polite">
{{> devices_list}}
  </div>
  <noscript>
    <form method="get"><button class="button small">{{> account_devices.refresh}}</button></form>
  </noscript>
</section>
{{#has_others}}
<section class="panel" aria-labelledby="others-title">
  <h2 id="others-title">{{> account_devices.others}}</h2>
  <p class="quiet-text">{{> account_devices.others_lead}}</p>
  <a class="button destructive" href="{{base}}/account/devices/end">{{> account_devices.end_others}}</a>
</section>
{{/has_others}}

"""##,
    "account_email.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> account_email.lead}}</p>
{{> notice}}
{{> errors}}
{{#pending}}
<section class="panel" aria-labelledby="pending-title">
  <h2 id="pending-title">{{> account_email.pending_title}}</h2>
  <p>{{> account_email.pending}}</p>
  {{#pending.until}}
  <p class="hint">{{> account_email.until}} <time datetime="{{iso}}">{{text}}</time></p>
  {{/pending.until}}
  <form method="post" class="buttons">
    {{{csrf}}}
    <button class="button" name="action" value="resend">{{> account_email.resend}}</button>
    <button class="button quiet" name="action" value="cancel">{{> account_email.cancel}}</button>
  </form>
</section>
{{/pending}}
<section class="panel" aria-labelledby="change-title">
  <h2 id="change-title">{{> account_email.change}}</h2>
  <dl class="facts">
    <div>
      <dt>{{> account_email.current}}</dt>
      <dd>{{email}}</dd>
    </div>
  </dl>
  <form method="post" class="stack">
    {{{csrf}}}
    <div class="field">
      <label for="new_email">{{> field.new_email}}</label>
      <input id="new_email" name="new_email" type="email" value="{{new_email}}" autocomplete="email" autocapitalize="none" spellcheck="false" required {{#errors.new_email}}aria-invalid="true" aria-describedby="new_email-error new_email-hint"{{/errors.new_email}}{{^errors.new_email}}aria-describedby="new_email-hint"{{/errors.new_email}}>
      {{#errors.new_email}}
      <p class="field-error" id="new_email-error">{{errors.new_email}}</p>
      {{/errors.new_email}}
      <p class="hint" id="new_email-hint">{{> account_email.hint}}</p>
    </div>
    <button class="button primary" name="action" value="change">{{> forgot.submit}}</button>
  </form>
</section>

"""##,
    "account_profile.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> account_profile.lead}}</p>
{{> notice}}
{{> errors}}
<section class="panel" aria-labelledby="name-title">
  <h2 id="name-title">{{> account_profile.name}}</h2>
  <form method="post" class="stack">
    {{{csrf}}}
    {{> field_name}}
    <button class="button primary" name="action" value="save">{{> common.save}}</button>
  </form>
</section>
<section class="panel" aria-labelledby="facts-title">
  <h2 id="facts-title">{{> account_profile.facts}}</h2>
  <dl class="facts">
    <div>
      <dt>{{> field.email}}</dt>
      <dd>{{email}}</dd>
      <dd class="fact-action"><a href="{{base}}/account/email">{{> common.change}}<span class="hear"> {{> field.email}}</span></a></dd>
    </div>
    <div>
      <dt>{{> account_profile.since}}</dt>
      <dd><time datetime="{{since.iso}}">{{since.text}}</time></dd>
    </div>
    <div>
      <dt>{{> account_profile.id}}</dt>
      <dd><code>{{account_id}}</code></dd>
    </div>
  </dl>
</section>

"""##,
    "account_security.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> account_security.lead}}</p>
{{> notice}}
{{> errors}}
{{#codes}}
{{> recovery_codes}}
{{/codes}}
<section class="panel" aria-labelledby="password-title">
  <h2 id="password-title">{{> field.password}}</h2>
  {{#has_password}}
  {{#password_changed}}
  <p class="quiet-text">{{> account_security.changed}} <time datetime="{{iso}}">{{text}}</time></p>
  {{/password_changed}}
  {{/has_password}}
  {{^has_password}}
  <p class="quiet-text">{{> account_security.no_password}}</p>
  {{/has_password}}
  <form method="post" class="stack">
    {{{csrf}}}
    <input type="email" value="{{email}}" autocomplete="username" readonly hidden>
    {{#has_password}}
    <div class="field">
      <label for="current_password">{{> field.current_password}}</label>
      <input id="current_password" name="current_password" type="password" autocomplete="current-password" required data-show="{{> common.show}}" data-hide="{{> common.hide}}" data-label="{{> common.show_password}}"{{#errors.current_password}} aria-invalid="true" aria-describedby="current_password-error"{{/errors.current_password}}>
      {{#errors.current_password}}
      <p class="field-error" id="current_password-error">{{errors.current_password}}</p>
      {{/errors.current_password}}
    </div>
    {{/has_password}}
    {{> field_new_password}}
    {{#has_password}}
    <label class="check"><input type="checkbox" name="end_others" value="yes" checked> <span>{{> account_security.end_others}}</span></label>
    <button class="button primary" name="action" value="change-password">{{> account_security.change}}</button>
    {{/has_password}}
    {{^has_password}}
    <button class="button primary" name="action" value="set-password">{{> account_security.set}}</button>
    {{/has_password}}
  </form>
  {{#can_remove_password}}
  <form method="post">
    {{{csrf}}}
    <button class="button destructive" name="action" value="remove-password">{{> account_security.remove_password}}</button>
    <p class="hint">{{> account_security.remove_password_hint}}</p>
  </form>
  {{/can_remove_password}}
</section>
{{#passkeys_on}}
<section class="panel" aria-labelledby="passkeys-title">
  <h2 id="passkeys-title">{{> account_security.passkeys}}</h2>
  <p class="quiet-text">{{> account_security.passkeys_lead}}</p>
  <ul class="rows">
    {{#passkeys}}
    <li class="row">
      <svg class="icon" aria-hidden="true"><use href="#icon-passkey"/></svg>
      <div class="row-text">
        <h3>{{name}}</h3>
        <p>{{#created}}{{> common.added}} <time datetime="{{iso}}">{{text}}</time>{{/created}}</p>
        <p>{{#used}}{{> common.last_used}} <time datetime="{{iso}}">{{text}}</time>{{/used}}{{^used}}{{> common.never_used}}{{/used}}</p>
      </div>
      <form method="post">
        {{{csrf}}}
        <input type="hidden" name="passkey_id" value="{{id}}">
        <button class="button small destructive" name="action" value="remove-passkey">{{> common.remove}}<span class="hear"> {{name}}</span></button>
      </form>
    </li>
    {{/passkeys}}
    {{^passkeys}}
    <li class="row none">{{> account_security.no_passkeys}}</li>
    {{/passkeys}}
  </ul>
  <form method="post">
    {{{csrf}}}
    <input type="hidden" name="passkey">
    {{#passkeys_locked}}
    <button class="button" name="action" value="unlock"><svg class="icon" aria-hidden="true"><use href="#icon-passkey"/></svg>{{> account_security.add_passkey}}</button>
    {{/passkeys_locked}}
    {{^passkeys_locked}}
    <button class="button" type="button" disabled data-passkey="create" data-options="{{base}}/account/passkey/options" data-cancelled="{{> passkey.cancelled}}" data-failed="{{> passkey.failed}}" data-exists="{{> passkey.exists}}" data-unsupported="{{> passkey.unsupported}}"><svg class="icon" aria-hidden="true"><use href="#icon-passkey"/></svg>{{> account_security.add_passkey}}</button>
    {{> passkey_status}}
    {{/passkeys_locked}}
  </form>
</section>
{{/passkeys_on}}
{{#recovery_on}}
<section class="panel" aria-labelledby="recovery-title">
  <h2 id="recovery-title">{{> account_security.recovery}}</h2>
  <p class="quiet-text">{{> account_security.recovery_lead}}</p>
  <p>{{#codes_left}}{{> account_security.left}}{{/codes_left}}{{^codes_left}}{{> account_security.no_codes}}{{/codes_left}}</p>
  <form method="post">
    {{{csrf}}}
    <button class="button" name="action" value="make-codes">{{> account_security.make_codes}}</button>
    {{#codes_left}}
    <p class="hint">{{> account_security.codes_replace}}</p>
    {{/codes_left}}
  </form>
</section>
{{/recovery_on}}

"""##,
    "actions.mustache": ##"""
<div class="actions">
  {{#actions}}
  <a class="button wide{{#is_primary}} primary{{/is_primary}}" href="{{href}}">{{text}}</a>
  {{/actions}}
</div>

"""##,
    "brand.mustache": ##"""
<span class="brand">{{#site.logo}}<img class="brand-logo" src="{{site.logo}}" alt="">{{/site.logo}}{{^site.logo}}<svg class="brand-logo" aria-hidden="true"><use href="#icon-mark"/></svg>{{/site.logo}}<span class="brand-name">{{site.name}}</span></span>

"""##,
    "card.mustache": ##"""
<div class="card-page">
  <header class="card-header">{{> brand}}</header>
  <main class="card">
{{{content}}}
  </main>
</div>

"""##,
    "confirm.mustache": ##"""
<h1>{{title}}</h1>
{{#expired}}
<p class="lead">{{> confirm.expired}}</p>
{{> notice}}
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  {{> field_email}}
  <button class="button primary wide" name="action" value="send">{{> common.send_link}}</button>
</form>
<ul class="ways">
  <li><a href="{{base}}/sign-in">{{> common.back_to_sign_in}}</a></li>
</ul>
{{/expired}}
{{^expired}}
<p class="lead">{{#needs_password}}{{> confirm.lead_password}}{{/needs_password}}{{^needs_password}}{{> confirm.lead}}{{/needs_password}}</p>
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  <input type="hidden" name="token" value="{{token}}">
  {{#email}}
  <input type="email" value="{{email}}" autocomplete="username" readonly hidden>
  {{/email}}
  {{#needs_password}}
  {{> field_new_password}}
  {{/needs_password}}
  <button class="button primary wide" name="action" value="confirm">{{> sign_up.submit}}</button>
</form>
{{/expired}}

"""##,
    "confirm_email.mustache": ##"""
<h1>{{title}}</h1>
{{#expired}}
<p class="lead">{{> confirm_email.expired}}</p>
<p><a class="button primary wide" href="{{base}}/account/email">{{> confirm_email.again}}</a></p>
{{/expired}}
{{^expired}}
<p class="lead">{{> confirm_email.lead}}</p>
<p class="address">{{new_email}}</p>
<form method="post" class="stack">
  {{{csrf}}}
  <input type="hidden" name="token" value="{{token}}">
  <button class="button primary wide" name="action" value="use">{{> confirm_email.use}}</button>
</form>
<p class="hint center">{{> confirm_email.otherwise}}</p>
{{/expired}}

"""##,
    "confirm_end.mustache": ##"""
<h1>{{title}}</h1>
<section class="panel">
  <p>{{> confirm_end.text}}</p>
  <ul class="plain">
    {{#others}}
    <li><svg class="icon" aria-hidden="true"><use href="#icon-{{icon}}"/></svg>{{name}}</li>
    {{/others}}
  </ul>
  <p class="quiet-text">{{> confirm_end.stays}}</p>
  <form method="post" class="buttons">
    {{{csrf}}}
    <button class="button danger" name="action" value="end-others">{{> account_devices.end_others}}</button>
    <a class="button" href="{{base}}/account/devices">{{> common.cancel}}</a>
  </form>
</section>

"""##,
    "consent.mustache": ##"""
<div class="app-logo">{{#app.logo}}<img src="{{app.logo}}" alt="">{{/app.logo}}{{^app.logo}}<svg class="icon" aria-hidden="true"><use href="#icon-app"/></svg>{{/app.logo}}</div>
<h1>{{title}}</h1>
{{> person}}
<h2 class="small-title">{{> consent.will}}</h2>
{{> scopes}}
{{#on_this_computer}}
<div class="notice warning">
  <svg class="icon" aria-hidden="true"><use href="#icon-warning"/></svg>
  <p>{{> consent.on_this_computer}}</p>
</div>
{{/on_this_computer}}
<form method="post" class="answers">
  {{{csrf}}}
  <button class="button" name="action" value="deny">{{> common.deny}}</button>
  <button class="button primary" name="action" value="allow">{{> common.allow}}</button>
</form>
<p class="hint center">{{#leads_to}}{{> consent.leads_to}} {{/leads_to}}{{> consent.take_back}}</p>

"""##,
    "console.mustache": ##"""
<a class="skip-link" href="#main">{{> common.skip}}</a>
<header class="top">
  <a class="home" href="{{base}}/account">{{> brand}}</a>
  <form class="top-person" method="post" action="{{base}}/sign-out">
    {{{csrf}}}
    <span class="top-name">{{console.person}}</span>
    <button class="button small" name="action" value="sign-out">{{> common.sign_out}}</button>
  </form>
</header>
<div class="console">
  <nav class="menu" aria-label="{{> nav.label}}">
    <ul>
      <li><a href="{{base}}/account"{{#console.at_profile}} aria-current="page"{{/console.at_profile}}><svg class="icon" aria-hidden="true"><use href="#icon-person"/></svg>{{> nav.profile}}</a></li>
      <li><a href="{{base}}/account/email"{{#console.at_email}} aria-current="page"{{/console.at_email}}><svg class="icon" aria-hidden="true"><use href="#icon-mail"/></svg>{{> nav.email}}</a></li>
      <li><a href="{{base}}/account/security"{{#console.at_security}} aria-current="page"{{/console.at_security}}><svg class="icon" aria-hidden="true"><use href="#icon-shield"/></svg>{{> nav.security}}</a></li>
      <li><a href="{{base}}/account/devices"{{#console.at_devices}} aria-current="page"{{/console.at_devices}}><svg class="icon" aria-hidden="true"><use href="#icon-computer"/></svg>{{> nav.devices}}</a></li>
      <li><a href="{{base}}/account/apps"{{#console.at_apps}} aria-current="page"{{/console.at_apps}}><svg class="icon" aria-hidden="true"><use href="#icon-app"/></svg>{{> nav.apps}}</a></li>
      <li><a href="{{base}}/account/activity"{{#console.at_activity}} aria-current="page"{{/console.at_activity}}><svg class="icon" aria-hidden="true"><use href="#icon-clock"/></svg>{{> nav.activity}}</a></li>
      <li><a href="{{base}}/account/data"{{#console.at_data}} aria-current="page"{{/console.at_data}}><svg class="icon" aria-hidden="true"><use href="#icon-file"/></svg>{{> nav.data}}</a></li>
    </ul>
  </nav>
  <main id="main" tabindex="-1">
{{{content}}}
  </main>
</div>

"""##,
    "de.json": ##"""
{
  "language.name": "Deutsch",
  "common.skip": "Zum Inhalt springen",
  "common.sign_out": "Abmelden",
  "common.continue": "Weiter",
  "common.cancel": "Abbrechen",
  "common.save": "Speichern",
  "common.change": "Ändern",
  "common.remove": "Entfernen",
  "common.allow": "Erlauben",
  "common.deny": "Nicht erlauben",
  "common.show": "Zeigen",
  "common.hide": "Verbergen",
  "common.show_password": "Passwort zeigen",
  "common.language": "Sprache",
  "common.other_account": "Anderes Konto verwenden",
  "common.back_to_sign_in": "Zurück zur Anmeldung",
  "common.send_link": "Neuen Link senden",
  "common.errors": "Bitte prüfen und erneut versuchen:",
  "common.added": "Hinzugefügt:",
  "common.last_used": "Zuletzt verwendet:",
  "common.never_used": "Noch nie verwendet",

  "field.email": "E-Mail-Adresse",
  "field.name": "Name",
  "field.password": "Passwort",
  "field.current_password": "Aktuelles Passwort",
  "field.new_password": "Neues Passwort",
  "field.new_email": "Neue E-Mail-Adresse",
  "field.typed_email": "Ihre E-Mail-Adresse",
  "field.user_code": "Code",
  "field.recovery_code": "Wiederherstellungscode",
  "field.password_rule": "Mindestens {{password_least}} Zeichen. Mehrere Wörter ohne Zusammenhang sind leicht zu merken und schwer zu erraten.",

  "field_error.email_missing": "Geben Sie Ihre E-Mail-Adresse ein.",
  "field_error.email_invalid": "Geben Sie eine vollständige Adresse ein, zum Beispiel name@example.com.",
  "field_error.email_taken": "Diese Adresse gehört bereits zu einem Konto.",
  "field_error.email_same": "Das ist bereits Ihre Adresse. Geben Sie eine andere ein.",
  "field_error.email_other": "Das ist nicht die Adresse dieses Kontos.",
  "field_error.name_missing": "Geben Sie einen Namen ein.",
  "field_error.name_long": "Verwenden Sie höchstens {{most}} Zeichen.",
  "field_error.password_missing": "Geben Sie Ihr Passwort ein.",
  "field_error.password_wrong": "Dieses Passwort ist falsch.",
  "field_error.sign_in_wrong": "Die E-Mail-Adresse oder das Passwort ist falsch.",
  "field_error.password_short": "Verwenden Sie mindestens {{password_least}} Zeichen.",
  "field_error.password_long": "Verwenden Sie höchstens {{most}} Zeichen.",
  "field_error.password_common": "Dieses Passwort probieren Angreifer als eines der ersten aus. Wählen Sie ein anderes.",
  "field_error.password_context": "Dieses Passwort ähnelt zu sehr Ihrem Namen oder {{site.name}}. Wählen Sie ein anderes.",
  "field_error.password_breached": "Dieses Passwort ist bei einem Datenleck bekannt geworden. Wählen Sie ein anderes.",
  "field_error.password_uncheckable": "Das Passwort lässt sich gerade nicht prüfen. Versuchen Sie es in einigen Minuten noch einmal.",
  "field_error.user_code": "Dieser Code ist ungültig oder abgelaufen. Vergleichen Sie ihn mit dem auf Ihrem Gerät.",
  "field_error.recovery_code": "Die Adresse oder der Code ist falsch, oder der Code wurde schon verwendet.",

  "nav.label": "Konto",
  "nav.profile": "Profil",
  "nav.email": "E-Mail-Adresse",
  "nav.security": "Sicherheit",
  "nav.devices": "Geräte",
  "nav.apps": "Apps",
  "nav.activity": "Aktivität",
  "nav.data": "Ihre Daten",

  "passkey.cancelled": "Es wurde kein Passkey verwendet. Sie können es jederzeit noch einmal versuchen.",
  "passkey.failed": "Der Passkey hat nicht funktioniert. Versuchen Sie es noch einmal oder nehmen Sie einen anderen Weg.",
  "passkey.expired": "Das hat zu lange gedauert. Versuchen Sie es noch einmal.",
  "passkey.unknown": "Dieser Passkey wird hier nicht mehr verwendet. Nehmen Sie einen anderen Weg, und löschen Sie ihn auf Ihrem Gerät.",
  "passkey.not_verified": "Ihr Gerät hat nicht geprüft, dass Sie es sind. Entsperren Sie es mit Fingerabdruck, Gesicht oder PIN, oder nehmen Sie einen anderen Weg.",
  "passkey.too_many": "Mehr Passkeys kann ein Konto nicht haben. Entfernen Sie zuerst einen.",
  "passkey.exists": "Dieses Gerät hat bereits einen Passkey für Ihr Konto.",
  "passkey.unsupported": "Dieser Browser unterstützt keine Passkeys.",
  "passkey.noscript": "Passkeys brauchen JavaScript, das in diesem Browser ausgeschaltet ist.",

  "sign_in.title": "Anmelden",
  "sign_in.title_confirm": "Bestätigen Sie, dass Sie es sind",
  "sign_in.to_app": "und weiter zu <strong>{{app.name}}</strong>",
  "sign_in.why_confirm": "Sie sind dabei, etwas Wichtiges zu ändern. Melden Sie sich dafür noch einmal an.",
  "sign_in.submit": "Anmelden",
  "sign_in.or": "oder",
  "sign_in.passkey": "Passkey verwenden",
  "sign_in.forgot": "Passwort vergessen?",
  "sign_in.recover": "Wiederherstellungscode verwenden",
  "sign_in.new_here": "Neu hier?",
  "sign_in.sign_up": "Konto erstellen",
  "sign_in.disabled": "Dieses Konto ist gesperrt. Wenden Sie sich an die Betreiber von {{site.name}}.",
  "sign_in.too_many": "Zu viele Versuche. Versuchen Sie es {{wait}} noch einmal.",
  "sign_in.ended": "Sie wurden abgemeldet. Melden Sie sich an, um fortzufahren.",

  "recover.title": "Wiederherstellungs\u00adcode verwenden",
  "recover.lead": "Geben Sie einen der Codes ein, die Sie beim Einrichten gespeichert haben. Jeder Code gilt einmal.",

  "sign_up.title": "Konto erstellen",
  "sign_up.to_app": "und weiter zu <strong>{{app.name}}</strong>",
  "sign_up.submit": "Konto erstellen",
  "sign_up.next": "Wir senden Ihnen einen Link, mit dem Sie Ihre Adresse bestätigen.",
  "sign_up.have_account": "Sie haben schon ein Konto?",

  "confirm.title": "Konto bestätigen",
  "confirm.title_expired": "Dieser Link ist abgelaufen",
  "confirm.lead": "Ihre Adresse ist bestätigt. Erstellen Sie jetzt Ihr Konto.",
  "confirm.lead_password": "Ihre Adresse ist bestätigt. Jetzt fehlt nur noch ein Passwort.",
  "confirm.expired": "Links gelten einmal und nur begrenzte Zeit. Geben Sie Ihre Adresse ein, dann senden wir Ihnen einen neuen.",

  "forgot.title": "Passwort zurücksetzen",
  "forgot.lead": "Geben Sie die Adresse Ihres Kontos ein. Wir senden Ihnen einen Link, mit dem Sie ein neues Passwort wählen.",
  "forgot.submit": "Link senden",

  "reset.title": "Neues Passwort wählen",
  "reset.title_expired": "Dieser Link ist abgelaufen",
  "reset.lead": "Verwenden Sie ein Passwort, das Sie sonst nirgends benutzen.",
  "reset.submit": "Passwort festlegen",
  "reset.signs_out": "Sie werden auf allen Geräten abgemeldet und können sich mit dem neuen Passwort wieder anmelden.",
  "reset.expired": "Links gelten einmal und nur begrenzte Zeit. Sie können sofort einen neuen bekommen.",

  "consent.title": "{{app.name}} Zugriff auf Ihr Konto erlauben?",
  "consent.will": "{{app.name}} kann dann:",
  "consent.on_this_computer": "Diese App läuft auf Ihrem eigenen Computer. Wir können nicht prüfen, von wem sie stammt. Erlauben Sie den Zugriff nur, wenn Sie die App selbst gestartet haben.",
  "consent.leads_to": "Danach geht es weiter zu {{leads_to}}.",
  "consent.take_back": "Sie können die Erlaubnis jederzeit in Ihrem Konto unter „Apps“ zurücknehmen.",

  "scope.openid": "Sie wiedererkennen",
  "scope.openid_text": "Anhand der ID Ihres Kontos",
  "scope.profile": "Ihren Namen sehen",
  "scope.profile_text": "Den Namen aus Ihrem Profil",
  "scope.email": "Ihre E-Mail-Adresse sehen",
  "scope.email_text": "{{email}}",
  "scope.offline_access": "Verbunden bleiben",
  "scope.offline_access_text": "Auch wenn Sie die App gerade nicht benutzen, bis Sie den Zugriff entfernen",
  "scope.other": "„{{scope}}“ verwenden",

  "device_code.title": "Gerät verbinden",
  "device_code.lead": "Geben Sie den Code ein, den Ihr Fernseher, Terminal oder anderes Gerät zeigt.",
  "device_code.hint": "Groß- und Kleinschreibung ist egal, den Bindestrich können Sie weglassen.",

  "device_allow.title": "{{app.name}} Zugriff auf Ihr Konto erlauben?",
  "device_allow.lead": "Zeigt Ihr Gerät diesen Code?",
  "device_allow.warning": "Fahren Sie nur fort, wenn Sie das Gerät vor sich haben. Wenn Ihnen jemand diesen Code geschickt hat, erlauben Sie den Zugriff nicht: Diese Person käme in Ihr Konto.",

  "logout.title": "Von {{site.name}} abmelden?",
  "logout.lead": "In diesem Browser müssen Sie sich danach neu anmelden.",
  "logout.from_app": "{{app.name}} möchte Sie abmelden. In diesem Browser müssen Sie sich danach neu anmelden.",
  "logout.stay": "Angemeldet bleiben",

  "message.sign_up_sent.title": "Sehen Sie in Ihr Postfach",
  "message.sign_up_sent.text": "Wir haben einen Link an {{email}} gesendet. Öffnen Sie ihn, um Ihr Konto fertigzustellen.",
  "message.forgot_sent.title": "Sehen Sie in Ihr Postfach",
  "message.forgot_sent.text": "Wenn {{email}} zu einem Konto gehört, ist ein Link für ein neues Passwort unterwegs.",
  "message.mail_detail": "Das kann einige Minuten dauern. Sehen Sie auch im Spam-Ordner nach.",
  "message.signed_up.title": "Willkommen bei {{site.name}}",
  "message.signed_up.text": "Ihr Konto ist bereit.",
  "message.reset_done.title": "Ihr Passwort ist festgelegt",
  "message.reset_done.text": "Sie sind auf allen Geräten abgemeldet. Melden Sie sich mit dem neuen Passwort an.",
  "message.signed_out.title": "Sie sind abgemeldet",
  "message.signed_out.text": "Sie können dieses Fenster jetzt schließen.",
  "message.device_allowed.title": "Ihr Gerät ist verbunden",
  "message.device_allowed.text": "Auf Ihrem Gerät geht es weiter.",
  "message.device_denied.title": "Ihr Gerät wurde nicht verbunden",
  "message.device_denied.text": "Es hat keinen Zugriff auf Ihr Konto bekommen. Sie können dieses Fenster schließen.",
  "message.email_changed.title": "Ihre Adresse ist geändert",
  "message.email_changed.text": "Melden Sie sich ab jetzt mit {{email}} an.",
  "message.deleted.title": "Ihr Konto ist gelöscht",
  "message.deleted.text": "Sie sind überall abgemeldet. Danke, dass Sie hier waren.",

  "action.sign_in": "Anmelden",
  "action.to_account": "Zu Ihrem Konto",
  "action.to_app": "Zurück zu {{app.name}}",
  "action.back": "Zurück",
  "action.try_again": "Noch einmal versuchen",

  "error.reference": "Wenn Sie um Hilfe bitten, nennen Sie diese Nummer:",
  "error.general.title": "Diese Seite lässt sich nicht anzeigen",
  "error.general.text": "Bei uns ist etwas fehlgeschlagen. Versuchen Sie es gleich noch einmal.",
  "error.not_found.title": "Seite nicht gefunden",
  "error.not_found.text": "Vielleicht enthält die Adresse einen Tippfehler, oder die Seite ist umgezogen.",
  "error.form_expired.title": "Dieses Formular ist abgelaufen",
  "error.form_expired.text": "Gehen Sie zurück, laden Sie die Seite neu und senden Sie das Formular noch einmal.",
  "error.request_invalid.title": "Diese Anmeldung kann nicht fortgesetzt werden",
  "error.request_invalid.text": "Die App hat eine Anfrage gesendet, die wir nicht annehmen können. Gehen Sie zur App zurück und beginnen Sie von vorn. Wenn das nicht hilft, wenden Sie sich an den Anbieter der App.",
  "error.too_many.title": "Zu viele Versuche",
  "error.too_many.text": "Versuchen Sie es {{wait}} noch einmal.",
  "error.unavailable.title": "Gleich wieder da",
  "error.unavailable.text": "{{site.name}} ist ausgelastet oder wird gerade aktualisiert. Versuchen Sie es in Kürze noch einmal.",

  "notice.saved": "Gespeichert.",
  "notice.email_pending": "Wir haben einen Link an {{pending.to}} gesendet.",
  "notice.email_cancelled": "Ihre Adresse bleibt, wie sie ist.",
  "notice.password_changed": "Ihr Passwort ist geändert.",
  "notice.password_changed_ended": "Ihr Passwort ist geändert. Ihre anderen Geräte sind abgemeldet.",
  "notice.password_set": "Sie können sich jetzt mit Ihrem Passwort anmelden.",
  "notice.passkey_added": "Sie können sich jetzt mit Ihrem Passkey anmelden.",
  "notice.passkey_removed": "Der Passkey ist entfernt. Sie können ihn auch auf Ihrem Gerät löschen.",
  "notice.passkey_last": "Mit diesem Passkey melden Sie sich als Einzigem an. Legen Sie ein Passwort fest, bevor Sie ihn entfernen.",
  "notice.password_removed": "Ihr Passwort ist entfernt. Sie melden sich von jetzt an mit einem Passkey an.",
  "notice.session_ended": "{{name}} ist abgemeldet.",
  "notice.others_ended": "Alle anderen Geräte sind abgemeldet.",
  "notice.app_removed": "{{app.name}} hat keinen Zugriff mehr.",

  "account_profile.title": "Profil",
  "account_profile.lead": "So kennt Sie {{site.name}}.",
  "account_profile.name": "Ihr Name",
  "account_profile.facts": "Ihr Konto",
  "account_profile.since": "Mitglied seit",
  "account_profile.id": "Konto-ID",

  "account_email.title": "E-Mail-Adresse",
  "account_email.lead": "Mit dieser Adresse melden Sie sich an. Dorthin schreiben wir Ihnen auch, wenn es um Ihr Konto geht.",
  "account_email.current": "Aktuelle Adresse",
  "account_email.change": "Adresse ändern",
  "account_email.hint": "Wir senden einen Link dorthin. Ihre Adresse ändert sich, sobald Sie ihn öffnen und bestätigen.",
  "account_email.pending_title": "Noch nicht bestätigt",
  "account_email.pending": "Wir haben einen Link an <strong>{{pending.to}}</strong> gesendet. Bis Sie ihn öffnen, melden Sie sich mit {{email}} an.",
  "account_email.until": "Der Link gilt bis",
  "account_email.resend": "Link erneut senden",
  "account_email.cancel": "Aktuelle Adresse behalten",

  "account_security.title": "Sicherheit",
  "account_security.lead": "Wie Sie sich anmelden und wie Sie im Notfall wieder hineinkommen.",
  "account_security.changed": "Zuletzt geändert:",
  "account_security.no_password": "Sie haben noch kein Passwort. Mit einem Passwort können Sie sich auch auf Geräten ohne Passkey anmelden.",
  "account_security.end_others": "Überall sonst abmelden",
  "account_security.change": "Passwort ändern",
  "account_security.set": "Passwort festlegen",
  "account_security.remove_password": "Passwort entfernen",
  "account_security.remove_password_hint": "Sie melden sich dann nur noch mit einem Passkey an.",
  "account_security.passkeys": "Passkeys",
  "account_security.passkeys_lead": "Melden Sie sich mit Fingerabdruck, Gesicht oder Bildschirmsperre statt mit einem Passwort an. Passkeys lassen sich weder erraten noch abfangen.",
  "account_security.no_passkeys": "Noch keine Passkeys.",
  "account_security.add_passkey": "Passkey hinzufügen",
  "account_security.recovery": "Wiederherstellungscodes",
  "account_security.recovery_lead": "Mit einem Wiederherstellungscode kommen Sie hinein, wenn Sie weder Ihr Passwort noch einen Passkey haben.",
  "account_security.left": "Noch nicht verwendete Codes: {{codes_left}}",
  "account_security.no_codes": "Sie haben keine Wiederherstellungscodes.",
  "account_security.make_codes": "Neue Codes erstellen",
  "account_security.codes_replace": "Ihre jetzigen Codes gelten dann nicht mehr.",

  "recovery_codes.title": "Ihre neuen Wiederherstellungscodes",
  "recovery_codes.advice": "Speichern Sie die Codes jetzt: Sie werden nur dieses eine Mal angezeigt. Drucken Sie sie aus oder legen Sie sie in einem Passwortmanager ab. Jeder Code gilt einmal.",
  "recovery_codes.copy": "Kopieren",
  "recovery_codes.copied": "Kopiert.",
  "recovery_codes.print": "Drucken",
  "recovery_codes.done": "Ich habe sie gespeichert",

  "account_devices.title": "Geräte",
  "account_devices.lead": "Hier sind Sie angemeldet. Melden Sie ab, was Sie nicht kennen, und ändern Sie dann Ihr Passwort.",
  "account_devices.list": "Angemeldete Geräte",
  "account_devices.live": "Live",
  "account_devices.waiting": "Verbindung wird wiederhergestellt",
  "account_devices.refresh": "Liste aktualisieren",
  "account_devices.others": "Alle anderen Geräte",
  "account_devices.others_lead": "Gerät verloren, oder an einem fremden angemeldet? Melden Sie sich überall außer hier ab.",
  "account_devices.end_others": "Überall sonst abmelden",

  "devices_list.this": "Dieser Browser",
  "devices_list.now": "Gerade aktiv",
  "devices_list.seen": "Zuletzt aktiv:",
  "devices_list.signed_in": "Angemeldet:",

  "confirm_end.title": "Überall sonst abmelden?",
  "confirm_end.text": "Diese Geräte und Apps werden sofort abgemeldet:",
  "confirm_end.stays": "In diesem Browser bleiben Sie angemeldet.",

  "account_apps.title": "Apps",
  "account_apps.lead": "Apps, denen Sie Zugriff auf Ihr Konto erlaubt haben.",
  "account_apps.list": "Verbundene Apps",
  "account_apps.since": "Erlaubt:",
  "account_apps.remove": "Zugriff entfernen",
  "account_apps.none": "Keine verbundenen Apps",
  "account_apps.none_text": "Wenn Sie sich bei einer App mit {{site.name}} anmelden, erscheint sie hier.",

  "account_activity.title": "Aktivität",
  "account_activity.lead": "Anmeldungen und Änderungen an Ihrem Konto.",
  "account_activity.list": "Letzte Aktivität",
  "account_activity.none": "Bisher ist nichts geschehen.",
  "account_activity.more": "Ältere Aktivität zeigen",
  "account_activity.unknown": "Kommt Ihnen etwas unbekannt vor?",
  "account_activity.unknown_text": "Melden Sie die Geräte ab, die Ihnen nicht gehören, und ändern Sie dann Ihr Passwort.",
  "account_activity.check_devices": "Geräte prüfen",
  "account_activity.change_password": "Passwort ändern",

  "activity.signed_in": "Angemeldet: {{device}}",
  "activity.signed_out": "Abgemeldet: {{device}}",
  "activity.ended": "{{device}} wurde von einem anderen Gerät aus abgemeldet",
  "activity.failed": "Anmeldung mit falschem Passwort",
  "activity.credential_changed": "Passwort, Adresse oder Passkeys geändert",
  "activity.password_changed": "Passwort geändert",
  "activity.password_reset": "Passwort per E-Mail zurückgesetzt",
  "activity.email_changed": "E-Mail-Adresse geändert in {{email}}",
  "activity.name_changed": "Name geändert",
  "activity.passkey_added": "Passkey „{{name}}“ hinzugefügt",
  "activity.passkey_removed": "Passkey „{{name}}“ entfernt",
  "activity.codes_made": "Neue Wiederherstellungscodes erstellt",
  "activity.code_used": "Wiederherstellungscode verwendet",
  "activity.app_allowed": "{{app.name}} hat Zugriff bekommen",
  "activity.app_removed": "Zugriff von {{app.name}} entfernt",
  "activity.theft": "Kopierte Sitzung beendet: {{device}}",
  "activity.downloaded": "Daten heruntergeladen",
  "activity.created": "Konto erstellt",

  "account_data.title": "Ihre Daten",
  "account_data.lead": "Nehmen Sie Ihre Daten mit, oder schließen Sie Ihr Konto.",
  "account_data.download": "Daten herunterladen",
  "account_data.download_text": "Eine JSON-Datei mit allem, was wir über Sie speichern: Profil, Geräte, Apps und Aktivität.",
  "account_data.download_button": "Herunterladen",
  "account_data.delete": "Konto löschen",
  "account_data.delete_text": "Löscht Ihr Konto mit allem, was dazugehört. Bevor etwas geschieht, sehen Sie, was das bedeutet.",
  "account_data.delete_button": "Konto löschen",

  "delete.title": "Konto löschen",
  "delete.lead": "Das lässt sich nicht rückgängig machen.",
  "delete.what": "Was geschieht",
  "delete.account": "Ihr Konto und Ihr Profil werden gelöscht.",
  "delete.devices": "Alle Ihre Geräte werden abgemeldet.",
  "delete.apps": "Verbundene Apps verlieren den Zugriff. Was sie über Sie gespeichert haben, bleibt bei ihnen.",
  "delete.data": "Wir behalten nichts, womit sich das Konto wiederherstellen ließe.",
  "delete.download": "Möchten Sie eine Kopie behalten?",
  "delete.type_email": "Geben Sie zur Bestätigung {{email}} ein.",
  "delete.submit": "Mein Konto löschen",

  "confirm_email.title": "Diese Adresse verwenden?",
  "confirm_email.title_expired": "Dieser Link ist abgelaufen",
  "confirm_email.lead": "Ab jetzt melden Sie sich bei {{site.name}} an mit:",
  "confirm_email.use": "Diese Adresse verwenden",
  "confirm_email.otherwise": "Wenn Sie das nicht angefordert haben, schließen Sie die Seite. Es ändert sich nichts.",
  "confirm_email.expired": "Ihre Adresse bleibt, wie sie ist. Einen neuen Link bekommen Sie in Ihrem Konto.",
  "confirm_email.again": "Zu Ihrem Konto",

  "time.now": "gerade eben",
  "time.minute_ago": "vor 1 Minute",
  "time.minutes_ago": "vor {{count}} Minuten",
  "time.hour_ago": "vor 1 Stunde",
  "time.hours_ago": "vor {{count}} Stunden",
  "time.yesterday": "gestern",
  "time.days_ago": "vor {{count}} Tagen",
  "time.in_a_minute": "in einer Minute",
  "time.in_minutes": "in {{count}} Minuten",
  "time.in_hours": "in {{count}} Stunden",
  "date.day": "{{day}}. {{month}} {{year}}",
  "date.minute": "{{day}}. {{month}} {{year}}, {{time}} Uhr",
  "date.month_1": "Januar",
  "date.month_2": "Februar",
  "date.month_3": "März",
  "date.month_4": "April",
  "date.month_5": "Mai",
  "date.month_6": "Juni",
  "date.month_7": "Juli",
  "date.month_8": "August",
  "date.month_9": "September",
  "date.month_10": "Oktober",
  "date.month_11": "November",
  "date.month_12": "Dezember"
}

"""##,
    "delete.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> delete.lead}}</p>
{{> notice}}
{{> errors}}
<section class="panel danger-zone" aria-labelledby="lost-title">
  <h2 id="lost-title">{{> delete.what}}</h2>
  <ul class="list">
    <li>{{> delete.account}}</li>
    <li>{{> delete.devices}}</li>
    <li>{{> delete.apps}}</li>
    <li>{{> delete.data}}</li>
  </ul>
  <p>{{> delete.download}} <a href="{{base}}/account/data">{{> account_data.download}}</a></p>
  <form method="post" class="stack">
    {{{csrf}}}
    <div class="field">
      <label for="typed_email">{{> field.typed_email}}</label>
      <input id="typed_email" name="typed_email" type="email" value="{{typed_email}}" autocomplete="off" autocapitalize="none" spellcheck="false" required {{#errors.typed_email}}aria-invalid="true" aria-describedby="typed_email-error typed_email-hint"{{/errors.typed_email}}{{^errors.typed_email}}aria-describedby="typed_email-hint"{{/errors.typed_email}}>
      {{#errors.typed_email}}
      <p class="field-error" id="typed_email-error">{{errors.typed_email}}</p>
      {{/errors.typed_email}}
      <p class="hint" id="typed_email-hint">{{> delete.type_email}}</p>
    </div>
    {{#has_password}}
    {{> field_password}}
    {{/has_password}}
    <div class="buttons">
      <button class="button danger" name="action" value="delete">{{> delete.submit}}</button>
      <a class="button" href="{{base}}/account/data">{{> common.cancel}}</a>
    </div>
  </form>
</section>

"""##,
    "device_allow.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> device_allow.lead}}</p>
<p class="code" translate="no">{{user_code}}</p>
<div class="notice warning">
  <svg class="icon" aria-hidden="true"><use href="#icon-warning"/></svg>
  <p>{{> device_allow.warning}}</p>
</div>
{{> person}}
<h2 class="small-title">{{> consent.will}}</h2>
{{> scopes}}
<form method="post" class="answers">
  {{{csrf}}}
  <input type="hidden" name="user_code" value="{{user_code}}">
  <button class="button" name="action" value="deny">{{> common.deny}}</button>
  <button class="button primary" name="action" value="allow">{{> common.allow}}</button>
</form>

"""##,
    "device_code.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> device_code.lead}}</p>
{{> notice}}
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  <div class="field">
    <label for="user_code">{{> field.user_code}}</label>
    <input id="user_code" class="code-input" name="user_code" value="{{user_code}}" maxlength="32" autocomplete="off" autocapitalize="characters" spellcheck="false" required {{#errors.user_code}}aria-invalid="true" aria-describedby="user_code-error user_code-hint"{{/errors.user_code}}{{^errors.user_code}}aria-describedby="user_code-hint"{{/errors.user_code}}>
    {{#errors.user_code}}
    <p class="field-error" id="user_code-error">{{errors.user_code}}</p>
    {{/errors.user_code}}
    <p class="hint" id="user_code-hint">{{> device_code.hint}}</p>
  </div>
  <button class="button primary wide" name="action" value="look">{{> common.continue}}</button>
</form>
{{> person}}

"""##,
    "devices_list.mustache": ##"""
<ul class="rows">
  {{#devices}}
  <li class="row" id="device-{{id}}">
    <svg class="icon" aria-hidden="true"><use href="#icon-{{icon}}"/></svg>
    <div class="row-text">
      <h3>{{name}}{{#is_current}} <span class="badge">{{> devices_list.this}}</span>{{/is_current}}</h3>
      {{#detail}}
      <p>{{detail}}</p>
      {{/detail}}
      <p aria-live="off">{{#is_current}}{{> devices_list.now}}{{/is_current}}{{^is_current}}{{#seen}}{{> devices_list.seen}} <time datetime="{{iso}}">{{text}}</time>{{/seen}}{{/is_current}} · {{#signed_in}}{{> devices_list.signed_in}} <time datetime="{{iso}}">{{text}}</time>{{/signed_in}}</p>
    </div>
    {{^is_current}}
    <form method="post" action="{{base}}/account/devices">
      {{{csrf}}}
      <input type="hidden" name="session" value="{{id}}">
      <button class="button small" name="action" value="end">{{> common.sign_out}}<span class="hear"> {{name}}</span></button>
    </form>
    {{/is_current}}
  </li>
  {{/devices}}
</ul>

"""##,
    "en.json": ##"""
{
  "language.name": "English",
  "common.skip": "Skip to content",
  "common.sign_out": "Sign out",
  "common.continue": "Continue",
  "common.cancel": "Cancel",
  "common.save": "Save",
  "common.change": "Change",
  "common.remove": "Remove",
  "common.allow": "Allow",
  "common.deny": "Don’t allow",
  "common.show": "Show",
  "common.hide": "Hide",
  "common.show_password": "Show password",
  "common.language": "Language",
  "common.other_account": "Use another account",
  "common.back_to_sign_in": "Back to sign-in",
  "common.send_link": "Send a new link",
  "common.errors": "Check this and try again:",
  "common.added": "Added",
  "common.last_used": "Last used",
  "common.never_used": "Never used",

  "field.email": "Email address",
  "field.name": "Name",
  "field.password": "Password",
  "field.current_password": "Current password",
  "field.new_password": "New password",
  "field.new_email": "New email address",
  "field.typed_email": "Your email address",
  "field.user_code": "Code",
  "field.recovery_code": "Recovery code",
  "field.password_rule": "At least {{password_least}} characters. A few unrelated words are easy to remember and hard to guess.",

  "field_error.email_missing": "Enter your email address.",
  "field_error.email_invalid": "Enter a full address, like name@example.com.",
  "field_error.email_taken": "This address already belongs to an account.",
  "field_error.email_same": "This is already your address. Enter a different one.",
  "field_error.email_other": "This is not the address of this account.",
  "field_error.name_missing": "Enter a name.",
  "field_error.name_long": "Use at most {{most}} characters.",
  "field_error.password_missing": "Enter your password.",
  "field_error.password_wrong": "This password is wrong.",
  "field_error.sign_in_wrong": "The email address or the password is wrong.",
  "field_error.password_short": "Use at least {{password_least}} characters.",
  "field_error.password_long": "Use at most {{most}} characters.",
  "field_error.password_common": "This password is one of the first that attackers try. Choose another one.",
  "field_error.password_context": "This password is too close to your name or to {{site.name}}. Choose another one.",
  "field_error.password_breached": "This password was found in a data breach. Choose another one.",
  "field_error.password_uncheckable": "The password can’t be checked right now. Try again in a few minutes.",
  "field_error.user_code": "This code is invalid or has expired. Compare it with the one on your device.",
  "field_error.recovery_code": "The address or the code is wrong, or the code was used before.",

  "nav.label": "Account",
  "nav.profile": "Profile",
  "nav.email": "Email address",
  "nav.security": "Security",
  "nav.devices": "Devices",
  "nav.apps": "Apps",
  "nav.activity": "Activity",
  "nav.data": "Your data",

  "passkey.cancelled": "No passkey was used. Try again whenever you like.",
  "passkey.failed": "The passkey didn’t work. Try again, or use another way.",
  "passkey.expired": "That took too long. Try again.",
  "passkey.unknown": "This passkey isn’t in use here any more. Use another way, and delete it on your device.",
  "passkey.not_verified": "Your device didn’t check that it’s you. Unlock it with your fingerprint, face or PIN, or use another way.",
  "passkey.too_many": "You have as many passkeys as an account can have. Remove one first.",
  "passkey.exists": "This device already has a passkey for your account.",
  "passkey.unsupported": "This browser doesn’t support passkeys.",
  "passkey.noscript": "Passkeys need JavaScript, which is turned off in this browser.",

  "sign_in.title": "Sign in",
  "sign_in.title_confirm": "Confirm it’s you",
  "sign_in.to_app": "to continue to <strong>{{app.name}}</strong>",
  "sign_in.why_confirm": "You’re about to change something important, so sign in once more.",
  "sign_in.submit": "Sign in",
  "sign_in.or": "or",
  "sign_in.passkey": "Use a passkey",
  "sign_in.forgot": "Forgot password?",
  "sign_in.recover": "Use a recovery code",
  "sign_in.new_here": "New here?",
  "sign_in.sign_up": "Create an account",
  "sign_in.disabled": "This account is disabled. Ask the people who run {{site.name}}.",
  "sign_in.too_many": "Too many attempts. Try again {{wait}}.",
  "sign_in.ended": "You were signed out. Sign in to continue.",

  "recover.title": "Use a recovery code",
  "recover.lead": "Enter one of the codes that you saved when you set them up. Each code works once.",

  "sign_up.title": "Create your account",
  "sign_up.to_app": "to continue to <strong>{{app.name}}</strong>",
  "sign_up.submit": "Create account",
  "sign_up.next": "We’ll send you a link to confirm your address.",
  "sign_up.have_account": "Have an account?",

  "confirm.title": "Confirm your account",
  "confirm.title_expired": "This link has expired",
  "confirm.lead": "Your address is confirmed. Create your account to get started.",
  "confirm.lead_password": "Your address is confirmed. Choose a password to finish.",
  "confirm.expired": "Links work once and only for a limited time. Enter your address and we’ll send you a new one.",

  "forgot.title": "Reset your password",
  "forgot.lead": "Enter the address of your account. We’ll send you a link to choose a new password.",
  "forgot.submit": "Send link",

  "reset.title": "Choose a new password",
  "reset.title_expired": "This link has expired",
  "reset.lead": "Use a password that you don’t use anywhere else.",
  "reset.submit": "Set password",
  "reset.signs_out": "You’ll be signed out on all devices and can sign in again with the new password.",
  "reset.expired": "Links work once and only for a limited time. You can get a new one right away.",

  "consent.title": "Allow {{app.name}} to access your account?",
  "consent.will": "{{app.name}} will be able to:",
  "consent.on_this_computer": "This app runs on your own computer, so we can’t check who made it. Allow it only if you started it yourself.",
  "consent.leads_to": "You’ll continue to {{leads_to}}.",
  "consent.take_back": "You can take this back at any time in your account, under Apps.",

  "scope.openid": "Know who you are",
  "scope.openid_text": "Your account’s ID, to recognize you when you return",
  "scope.profile": "See your name",
  "scope.profile_text": "The name in your profile",
  "scope.email": "See your email address",
  "scope.email_text": "{{email}}",
  "scope.offline_access": "Stay connected",
  "scope.offline_access_text": "Keep access while you aren’t using it, until you remove it",
  "scope.other": "Use “{{scope}}”",

  "device_code.title": "Connect a device",
  "device_code.lead": "Enter the code shown on your TV, terminal or other device.",
  "device_code.hint": "Capital and small letters don’t matter, and you can leave out the hyphen.",

  "device_allow.title": "Allow {{app.name}} to access your account?",
  "device_allow.lead": "Does your device show this code?",
  "device_allow.warning": "Continue only if the device is in front of you. If someone sent you this code, don’t allow it: they would get into your account.",

  "logout.title": "Sign out of {{site.name}}?",
  "logout.lead": "You’ll need to sign in again in this browser.",
  "logout.from_app": "{{app.name}} asks to sign you out. You’ll need to sign in again in this browser.",
  "logout.stay": "Stay signed in",

  "message.sign_up_sent.title": "Check your mail",
  "message.sign_up_sent.text": "We sent a link to {{email}}. Follow it to finish your account.",
  "message.forgot_sent.title": "Check your mail",
  "message.forgot_sent.text": "If {{email}} belongs to an account, a link to choose a new password is on its way.",
  "message.mail_detail": "It can take a few minutes. Look in the spam folder, too.",
  "message.signed_up.title": "Welcome to {{site.name}}",
  "message.signed_up.text": "Your account is ready.",
  "message.reset_done.title": "Your password is set",
  "message.reset_done.text": "You’re signed out on all devices. Sign in with the new password.",
  "message.signed_out.title": "You are signed out",
  "message.signed_out.text": "You can close this window now.",
  "message.device_allowed.title": "Your device is connected",
  "message.device_allowed.text": "Go back to your device to continue.",
  "message.device_denied.title": "Your device was not connected",
  "message.device_denied.text": "It did not get access to your account. You can close this window.",
  "message.email_changed.title": "Your address is changed",
  "message.email_changed.text": "From now on, sign in with {{email}}.",
  "message.deleted.title": "Your account is deleted",
  "message.deleted.text": "You are signed out everywhere. Thank you for having been here.",

  "action.sign_in": "Sign in",
  "action.to_account": "Go to your account",
  "action.to_app": "Back to {{app.name}}",
  "action.back": "Go back",
  "action.try_again": "Try again",

  "error.reference": "If you ask for help, give this number:",
  "error.general.title": "This page can’t be shown",
  "error.general.text": "Something failed on our side. Try again in a moment.",
  "error.not_found.title": "Page not found",
  "error.not_found.text": "The address may be mistyped, or the page has moved.",
  "error.form_expired.title": "This form has expired",
  "error.form_expired.text": "Go back, reload the page and send the form again.",
  "error.request_invalid.title": "This sign-in can’t continue",
  "error.request_invalid.text": "The app sent a request that we can’t accept. Go back to the app and start again. If that doesn’t help, tell the people who make it.",
  "error.too_many.title": "Too many attempts",
  "error.too_many.text": "Try again {{wait}}.",
  "error.unavailable.title": "Back in a moment",
  "error.unavailable.text": "{{site.name}} is busy or being updated. Try again shortly.",

  "notice.saved": "Saved.",
  "notice.email_pending": "We sent a link to {{pending.to}}.",
  "notice.email_cancelled": "Your address stays as it is.",
  "notice.password_changed": "Your password is changed.",
  "notice.password_changed_ended": "Your password is changed. Your other devices are signed out.",
  "notice.password_set": "You can now sign in with your password.",
  "notice.passkey_added": "You can now sign in with your passkey.",
  "notice.passkey_removed": "The passkey is removed. You can also delete it on your device.",
  "notice.passkey_last": "This passkey is your only way to sign in. Set a password before you remove it.",
  "notice.password_removed": "Your password is removed. You sign in with a passkey from now on.",
  "notice.session_ended": "{{name}} is signed out.",
  "notice.others_ended": "All other devices are signed out.",
  "notice.app_removed": "{{app.name}} no longer has access.",

  "account_profile.title": "Profile",
  "account_profile.lead": "What {{site.name}} knows you by.",
  "account_profile.name": "Your name",
  "account_profile.facts": "Your account",
  "account_profile.since": "Member since",
  "account_profile.id": "Account ID",

  "account_email.title": "Email address",
  "account_email.lead": "You sign in with this address, and we write to it about your account.",
  "account_email.current": "Current address",
  "account_email.change": "Change your address",
  "account_email.hint": "We’ll send a link there. Your address changes when you follow it.",
  "account_email.pending_title": "Waiting for your confirmation",
  "account_email.pending": "We sent a link to <strong>{{pending.to}}</strong>. Until you follow it, you sign in with {{email}}.",
  "account_email.until": "The link works until",
  "account_email.resend": "Send the link again",
  "account_email.cancel": "Keep my current address",

  "account_security.title": "Security",
  "account_security.lead": "How you sign in, and how you get back in.",
  "account_security.changed": "Last changed",
  "account_security.no_password": "You have no password yet. With one, you can sign in on devices without a passkey.",
  "account_security.end_others": "Sign out everywhere else",
  "account_security.change": "Change password",
  "account_security.set": "Set password",
  "account_security.remove_password": "Remove password",
  "account_security.remove_password_hint": "You then sign in with a passkey only.",
  "account_security.passkeys": "Passkeys",
  "account_security.passkeys_lead": "Sign in with your fingerprint, face or screen lock instead of a password. Passkeys can’t be guessed or phished.",
  "account_security.no_passkeys": "No passkeys yet.",
  "account_security.add_passkey": "Add a passkey",
  "account_security.recovery": "Recovery codes",
  "account_security.recovery_lead": "A recovery code gets you in when you have neither your password nor a passkey.",
  "account_security.left": "{{codes_left}} unused codes left.",
  "account_security.no_codes": "You have no recovery codes.",
  "account_security.make_codes": "Make new codes",
  "account_security.codes_replace": "The codes you have now will stop working.",

  "recovery_codes.title": "Your new recovery codes",
  "recovery_codes.advice": "Save them now: they are shown only this once. Print them or keep them in a password manager. Each one works once.",
  "recovery_codes.copy": "Copy",
  "recovery_codes.copied": "Copied.",
  "recovery_codes.print": "Print",
  "recovery_codes.done": "I’ve saved them",

  "account_devices.title": "Devices",
  "account_devices.lead": "Where you are signed in. Sign out of anything you don’t recognize, then change your password.",
  "account_devices.list": "Signed-in devices",
  "account_devices.live": "Live",
  "account_devices.waiting": "Reconnecting",
  "account_devices.refresh": "Refresh list",
  "account_devices.others": "All other devices",
  "account_devices.others_lead": "Lost a device, or used one that isn’t yours? Sign out everywhere but here.",
  "account_devices.end_others": "Sign out everywhere else",

  "devices_list.this": "This browser",
  "devices_list.now": "Active now",
  "devices_list.seen": "Last seen",
  "devices_list.signed_in": "Signed in",

  "confirm_end.title": "Sign out everywhere else?",
  "confirm_end.text": "These devices and apps will be signed out at once:",
  "confirm_end.stays": "You stay signed in here.",

  "account_apps.title": "Apps",
  "account_apps.lead": "Apps that you allowed to access your account.",
  "account_apps.list": "Connected apps",
  "account_apps.since": "Allowed",
  "account_apps.remove": "Remove access",
  "account_apps.none": "No connected apps",
  "account_apps.none_text": "When you sign in to an app with {{site.name}}, it appears here.",

  "account_activity.title": "Activity",
  "account_activity.lead": "Sign-ins and changes to your account.",
  "account_activity.list": "Recent activity",
  "account_activity.none": "Nothing has happened yet.",
  "account_activity.more": "Show older activity",
  "account_activity.unknown": "Don’t recognize something?",
  "account_activity.unknown_text": "Sign out the devices that aren’t yours, then change your password.",
  "account_activity.check_devices": "Check devices",
  "account_activity.change_password": "Change password",

  "activity.signed_in": "Signed in on {{device}}",
  "activity.signed_out": "Signed out on {{device}}",
  "activity.ended": "{{device}} was signed out from another device",
  "activity.failed": "Sign-in with a wrong password",
  "activity.credential_changed": "Password, address or passkeys changed",
  "activity.password_changed": "Password changed",
  "activity.password_reset": "Password reset by mail",
  "activity.email_changed": "Email address changed to {{email}}",
  "activity.name_changed": "Name changed",
  "activity.passkey_added": "Passkey “{{name}}” added",
  "activity.passkey_removed": "Passkey “{{name}}” removed",
  "activity.codes_made": "New recovery codes made",
  "activity.code_used": "Recovery code used",
  "activity.app_allowed": "{{app.name}} was allowed access",
  "activity.app_removed": "Access of {{app.name}} removed",
  "activity.theft": "Copied session of {{device}} ended",
  "activity.downloaded": "Data downloaded",
  "activity.created": "Account created",

  "account_data.title": "Your data",
  "account_data.lead": "Take your data with you, or close your account.",
  "account_data.download": "Download your data",
  "account_data.download_text": "One JSON file with everything we store about you: your profile, devices, apps and activity.",
  "account_data.download_button": "Download",
  "account_data.delete": "Delete your account",
  "account_data.delete_text": "Deletes your account and everything in it. You’ll see what that means before anything happens.",
  "account_data.delete_button": "Delete account",

  "delete.title": "Delete your account",
  "delete.lead": "This can’t be undone.",
  "delete.what": "What happens",
  "delete.account": "Your account and your profile are deleted.",
  "delete.devices": "All your devices are signed out.",
  "delete.apps": "Connected apps lose access. What they stored about you stays with them.",
  "delete.data": "We keep nothing that could bring the account back.",
  "delete.download": "Want to keep a copy?",
  "delete.type_email": "Type {{email}} to confirm.",
  "delete.submit": "Delete my account",

  "confirm_email.title": "Use this address?",
  "confirm_email.title_expired": "This link has expired",
  "confirm_email.lead": "From now on, you’ll sign in to {{site.name}} with:",
  "confirm_email.use": "Use this address",
  "confirm_email.otherwise": "If you didn’t ask for this, close the page. Nothing changes.",
  "confirm_email.expired": "Your address stays as it is. You can ask for a new link in your account.",
  "confirm_email.again": "Go to your account",

  "time.now": "just now",
  "time.minute_ago": "1 minute ago",
  "time.minutes_ago": "{{count}} minutes ago",
  "time.hour_ago": "1 hour ago",
  "time.hours_ago": "{{count}} hours ago",
  "time.yesterday": "yesterday",
  "time.days_ago": "{{count}} days ago",
  "time.in_a_minute": "in a minute",
  "time.in_minutes": "in {{count}} minutes",
  "time.in_hours": "in {{count}} hours",
  "date.day": "{{day}} {{month}} {{year}}",
  "date.minute": "{{day}} {{month}} {{year}}, {{time}}",
  "date.month_1": "January",
  "date.month_2": "February",
  "date.month_3": "March",
  "date.month_4": "April",
  "date.month_5": "May",
  "date.month_6": "June",
  "date.month_7": "July",
  "date.month_8": "August",
  "date.month_9": "September",
  "date.month_10": "October",
  "date.month_11": "November",
  "date.month_12": "December"
}

"""##,
    "error.mustache": ##"""
<div class="message">
  <div class="message-icon bad"><svg class="icon" aria-hidden="true"><use href="#icon-warning"/></svg></div>
  <h1>{{title}}</h1>
  <p class="lead">{{text}}</p>
  {{> actions}}
  {{#reason}}
  <p class="hint" lang="en">{{reason}}</p>
  {{/reason}}
  {{#reference}}
  <p class="hint">{{> error.reference}} <code>{{reference}}</code></p>
  {{/reference}}
</div>

"""##,
    "errors.mustache": ##"""
{{#errors}}
<div class="notice error" role="alert">
  <svg class="icon" aria-hidden="true"><use href="#icon-warning"/></svg>
  <div>
    <p>{{> common.errors}}</p>
    <ul>
      {{#errors.name}}
      <li><a href="#name">{{> field.name}}</a><span class="hear">: {{errors.name}}</span></li>
      {{/errors.name}}
      {{#errors.email}}
      <li><a href="#email">{{> field.email}}</a><span class="hear">: {{errors.email}}</span></li>
      {{/errors.email}}
      {{#errors.new_email}}
      <li><a href="#new_email">{{> field.new_email}}</a><span class="hear">: {{errors.new_email}}</span></li>
      {{/errors.new_email}}
      {{#errors.typed_email}}
      <li><a href="#typed_email">{{> field.typed_email}}</a><span class="hear">: {{errors.typed_email}}</span></li>
      {{/errors.typed_email}}
      {{#errors.password}}
      <li><a href="#password">{{> field.password}}</a><span class="hear">: {{errors.password}}</span></li>
      {{/errors.password}}
      {{#errors.current_password}}
      <li><a href="#current_password">{{> field.current_password}}</a><span class="hear">: {{errors.current_password}}</span></li>
      {{/errors.current_password}}
      {{#errors.new_password}}
      <li><a href="#new_password">{{> field.new_password}}</a><span class="hear">: {{errors.new_password}}</span></li>
      {{/errors.new_password}}
      {{#errors.user_code}}
      <li><a href="#user_code">{{> field.user_code}}</a><span class="hear">: {{errors.user_code}}</span></li>
      {{/errors.user_code}}
      {{#errors.recovery_code}}
      <li><a href="#recovery_code">{{> field.recovery_code}}</a><span class="hear">: {{errors.recovery_code}}</span></li>
      {{/errors.recovery_code}}
    </ul>
  </div>
</div>
{{/errors}}

"""##,
    "field_email.mustache": ##"""
<div class="field">
  <label for="email">{{> field.email}}</label>
  <input id="email" name="email" type="email" value="{{email}}" autocomplete="username" autocapitalize="none" spellcheck="false" required{{#focus_email}} autofocus{{/focus_email}}{{#errors.email}} aria-invalid="true" aria-describedby="email-error"{{/errors.email}}>
  {{#errors.email}}
  <p class="field-error" id="email-error">{{errors.email}}</p>
  {{/errors.email}}
</div>

"""##,
    "field_name.mustache": ##"""
<div class="field">
  <label for="name">{{> field.name}}</label>
  <input id="name" name="name" value="{{name}}" maxlength="100" autocomplete="name" required{{#errors.name}} aria-invalid="true" aria-describedby="name-error"{{/errors.name}}>
  {{#errors.name}}
  <p class="field-error" id="name-error">{{errors.name}}</p>
  {{/errors.name}}
</div>

"""##,
    "field_new_password.mustache": ##"""
<div class="field">
  <label for="new_password">{{> field.new_password}}</label>
  <input id="new_password" name="new_password" type="password" minlength="{{password_least}}" autocomplete="new-password" required data-show="{{> common.show}}" data-hide="{{> common.hide}}" data-label="{{> common.show_password}}" {{#errors.new_password}}aria-invalid="true" aria-describedby="new_password-error new_password-hint"{{/errors.new_password}}{{^errors.new_password}}aria-describedby="new_password-hint"{{/errors.new_password}}>
  {{#errors.new_password}}
  <p class="field-error" id="new_password-error">{{errors.new_password}}</p>
  {{/errors.new_password}}
  <p class="hint" id="new_password-hint">{{> field.password_rule}}</p>
</div>

"""##,
    "field_password.mustache": ##"""
<div class="field">
  <label for="password">{{> field.password}}</label>
  <input id="password" name="password" type="password" autocomplete="current-password" required data-show="{{> common.show}}" data-hide="{{> common.hide}}" data-label="{{> common.show_password}}"{{#errors.password}} aria-invalid="true" aria-describedby="password-error"{{/errors.password}}>
  {{#errors.password}}
  <p class="field-error" id="password-error">{{errors.password}}</p>
  {{/errors.password}}
</div>

"""##,
    "footer.mustache": ##"""
<footer class="foot">
  <ul class="foot-list">
    <li>{{site.name}}</li>
    {{#site.links}}
    <li><a href="{{href}}">{{text}}</a></li>
    {{/site.links}}
  </ul>
  <nav aria-label="{{> common.language}}">
    <ul class="foot-list">
      {{#languages}}
      <li><a href="{{href}}" hreflang="{{code}}" lang="{{code}}"{{#is_current}} aria-current="true"{{/is_current}}>{{name}}</a></li>
      {{/languages}}
    </ul>
  </nav>
</footer>

"""##,
    "forgot.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> forgot.lead}}</p>
{{> notice}}
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  {{> field_email}}
  <button class="button primary wide" name="action" value="send">{{> forgot.submit}}</button>
</form>
<ul class="ways">
  <li><a href="{{base}}/sign-in{{next}}">{{> common.back_to_sign_in}}</a></li>
</ul>

"""##,
    "icon.svg": ##"""
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect x="1" y="1" width="22" height="22" rx="7" fill="#2f4fd0"/><path d="M8 6.5v11M16 6.5v11M8 12h8" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round"/></svg>

"""##,
    "icons.mustache": ##"""
<svg class="sprite" aria-hidden="true">
  <symbol id="icon-mark" viewBox="0 0 24 24"><rect x="1" y="1" width="22" height="22" rx="7" class="mark-ground"/><path d="M8 6.5v11M16 6.5v11M8 12h8" class="mark-line"/></symbol>
  <symbol id="icon-person" viewBox="0 0 24 24"><circle cx="12" cy="8" r="4"/><path d="M4.5 20.5c.8-4 3.6-6 7.5-6s6.7 2 7.5 6"/></symbol>
  <symbol id="icon-mail" viewBox="0 0 24 24"><rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="m4 7.5 8 5.5 8-5.5"/></symbol>
  <symbol id="icon-shield" viewBox="0 0 24 24"><path d="M12 3 5 5.5v5.5c0 4.5 2.9 8 7 10 4.1-2 7-5.5 7-10V5.5z"/></symbol>
  <symbol id="icon-computer" viewBox="0 0 24 24"><rect x="4" y="5" width="16" height="11" rx="2"/><path d="M2 20h20"/></symbol>
  <symbol id="icon-phone" viewBox="0 0 24 24"><rect x="7" y="2.5" width="10" height="19" rx="2.5"/><path d="M11 18.5h2"/></symbol>
  <symbol id="icon-browser" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c2.6 2.6 3.8 5.6 3.8 9s-1.2 6.4-3.8 9c-2.6-2.6-3.8-5.6-3.8-9s1.2-6.4 3.8-9z"/></symbol>
  <symbol id="icon-terminal" viewBox="0 0 24 24"><rect x="3" y="4" width="18" height="16" rx="2.5"/><path d="m7 9 3 3-3 3M12.5 15H17"/></symbol>
  <symbol id="icon-app" viewBox="0 0 24 24"><rect x="4" y="4" width="6.5" height="6.5" rx="1.5"/><rect x="13.5" y="4" width="6.5" height="6.5" rx="1.5"/><rect x="4" y="13.5" width="6.5" height="6.5" rx="1.5"/><rect x="13.5" y="13.5" width="6.5" height="6.5" rx="1.5"/></symbol>
  <symbol id="icon-clock" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/><path d="M12 7v5l3.5 2"/></symbol>
  <symbol id="icon-file" viewBox="0 0 24 24"><path d="M13.5 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8.5zM13.5 3v5.5H19"/></symbol>
  <symbol id="icon-key" viewBox="0 0 24 24"><circle cx="8" cy="15.5" r="4.5"/><path d="M11.5 12.5 20 4M16.5 7.5l3 3"/></symbol>
  <symbol id="icon-lock" viewBox="0 0 24 24"><rect x="5" y="10.5" width="14" height="10" rx="2.5"/><path d="M8 10.5V7.5a4 4 0 0 1 8 0v3"/></symbol>
  <symbol id="icon-passkey" viewBox="0 0 24 24"><circle cx="9" cy="7.5" r="3.5"/><path d="M2.5 20c.6-4 3-6 6.5-6 1.3 0 2.5.3 3.5.9"/><circle cx="18" cy="12.5" r="2.8"/><path d="M18 15.3V21l1.8-1.5M18 18h1.5"/></symbol>
  <symbol id="icon-sign-in" viewBox="0 0 24 24"><path d="M14 4h4a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-4M10 8l4 4-4 4M14 12H4"/></symbol>
  <symbol id="icon-sign-out" viewBox="0 0 24 24"><path d="M10 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h4M16 8l4 4-4 4M20 12H10"/></symbol>
  <symbol id="icon-check" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/><path d="m8 12.5 2.7 2.7L16 9.5"/></symbol>
  <symbol id="icon-info" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/><path d="M12 11v5.5M12 7.6v.1"/></symbol>
  <symbol id="icon-warning" viewBox="0 0 24 24"><path d="M12 3.5 2.5 20h19zM12 10v4.5M12 17.2v.1"/></symbol>
  <symbol id="icon-trash" viewBox="0 0 24 24"><path d="M4 6.5h16M9.5 6.5V4h5v2.5M6.5 6.5 7.5 20h9l1-13.5"/></symbol>
  <symbol id="icon-refresh" viewBox="0 0 24 24"><path d="M20 5v5h-5M4 19v-5h5M5.5 9a7 7 0 0 1 12-2.5L20 10M4 14l2.5 3.5a7 7 0 0 0 12-2.5"/></symbol>
</svg>

"""##,
    "layout.mustache": ##"""
<!doctype html>
<html lang="{{lang}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{{title}} · {{site.name}}</title>
{{#site.icon}}
<link rel="icon" href="{{site.icon}}">
{{/site.icon}}
<link rel="stylesheet" href="{{css}}">
<script src="{{js}}" defer></script>
</head>
<body>
{{> icons}}
{{#console}}
{{> console}}
{{/console}}
{{^console}}
{{> card}}
{{/console}}
{{> footer}}
</body>
</html>

"""##,
    "logout.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{#app}}{{> logout.from_app}}{{/app}}{{^app}}{{> logout.lead}}{{/app}}</p>
{{#person}}
<div class="person">
  <svg class="icon" aria-hidden="true"><use href="#icon-person"/></svg>
  <p><span class="person-name">{{name}}</span><span class="person-email">{{email}}</span></p>
</div>
{{/person}}
<form method="post" class="answers">
  {{{csrf}}}
  <button class="button" name="action" value="stay">{{> logout.stay}}</button>
  <button class="button primary" name="action" value="sign-out">{{> common.sign_out}}</button>
</form>

"""##,
    "message.mustache": ##"""
<div class="message">
  <div class="message-icon"><svg class="icon" aria-hidden="true"><use href="#icon-{{icon}}"/></svg></div>
  <h1>{{title}}</h1>
  <p class="lead">{{text}}</p>
  {{#detail}}
  <p class="hint">{{detail}}</p>
  {{/detail}}
  {{> actions}}
</div>

"""##,
    "notice.mustache": ##"""
{{#notice}}
<div class="notice {{kind}}" role="status">
  <svg class="icon" aria-hidden="true"><use href="#icon-{{icon}}"/></svg>
  <p>{{text}}</p>
</div>
{{/notice}}

"""##,
    "pages.css": ##"""
/*BRAND*/
:where(:root) {
  --accent: #3451d1;
  --on-accent: #ffffff;
  --accent-dark: #a3b5ff;
  --on-accent-dark: #10163a;
}

:root {
  color-scheme: light dark;
  --fill: var(--accent);
  --on-fill: var(--on-accent);
  --ground: #f4f5f7;
  --surface: #ffffff;
  --sunken: #f4f5f7;
  --text: #191c22;
  --text-quiet: #5a6270;
  --line: #dfe2e8;
  --line-strong: #868e9c;
  --bad: #b3261e;
  --on-bad: #ffffff;
  --bad-ground: #fdf0ef;
  --good: #17693c;
  --good-ground: #ecf7f0;
  --warning: #7a4d00;
  --warning-ground: #fdf5e3;
  --shadow: 0 1px 2px rgb(20 24 36 / 5%), 0 8px 32px rgb(20 24 36 / 7%);
  --radius: 0.625rem;
  --mono: ui-monospace, Menlo, Consolas, monospace;
}

@media (prefers-color-scheme: dark) {
  :root {
    --fill: var(--accent-dark);
    --on-fill: var(--on-accent-dark);
    --ground: #101217;
    --surface: #181b22;
    --sunken: #20242d;
    --text: #eceef2;
    --text-quiet: #a2aab8;
    --line: #2d323d;
    --line-strong: #727b8b;
    --bad: #ff9a92;
    --on-bad: #3b0805;
    --bad-ground: #33191a;
    --good: #7fd6a2;
    --good-ground: #14291d;
    --warning: #f0c26b;
    --warning-ground: #2c2412;
    --shadow: none;
  }
}

@media (prefers-contrast: more) {
  :root {
    --text-quiet: var(--text);
    --line: var(--line-strong);
    --line-strong: var(--text);
  }
}

/* Elements */

*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }

html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }

body {
  display: flex;
  flex-direction: column;
  min-height: 100vh;
  min-height: 100dvh;
  margin: 0;
  font: 1rem/1.5 system-ui, sans-serif;
  color: var(--text);
  background: var(--ground);
  overflow-wrap: anywhere;
}

h1, h2, h3, p, ul, ol, dl, dd { margin: 0; padding: 0; }
h1 { font-size: 1.5rem; line-height: 1.25; font-weight: 650; letter-spacing: -0.015em; text-wrap: balance; }
h2 { font-size: 1.0625rem; line-height: 1.4; font-weight: 650; }
h3 { font-size: 1rem; font-weight: 600; }
ul, ol { list-style: none; }
strong { font-weight: 650; }
code { font: 0.9375em var(--mono); }
a { color: var(--fill); text-underline-offset: 0.2em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }

:focus-visible { outline: 3px solid var(--fill); outline-offset: 2px; }
main:focus, .notice:focus { outline: none; }

.lead, .quiet-text, .row.none, .empty, .ways, .facts dt, .top-name,
.person > .icon, .app-logo > .icon, .row > .icon, .plain .icon { color: var(--text-quiet); }
.lead strong, .empty strong { color: var(--text); }
.hint, .or, .live, .can, .person-email, .scopes p, .row-text p { font-size: 0.875rem; color: var(--text-quiet); }
.center { text-align: center; }
.small-title { font-size: 0.9375rem; }

/* For screen readers only. */
.hear {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

.skip-link {
  position: absolute;
  z-index: 1;
  top: 0.5rem;
  left: 0.5rem;
  padding: 0.625rem 1rem;
  border-radius: var(--radius);
  color: var(--on-fill);
  background: var(--fill);
}
.skip-link:not(:focus) { clip-path: inset(50%); }

/* Icons and brand */

.sprite { position: absolute; width: 0; height: 0; }
.icon {
  flex: none;
  width: 1.25rem;
  height: 1.25rem;
  fill: none;
  stroke: currentColor;
  stroke-width: 1.75;
  stroke-linecap: round;
  stroke-linejoin: round;
}
.brand { display: inline-flex; align-items: center; gap: 0.625rem; max-width: 100%; color: var(--text); font-weight: 650; }
.brand-name { font-size: 1.0625rem; letter-spacing: -0.01em; }
.brand-logo { flex: none; width: 2rem; height: 2rem; object-fit: contain; }
.mark-ground { fill: var(--fill); }
.mark-line { fill: none; stroke: var(--on-fill); stroke-width: 2.25; stroke-linecap: round; }

/* Buttons */

.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  gap: 0.5rem;
  min-height: 2.75rem;
  padding: 0.5rem 1.125rem;
  border: 1px solid var(--line-strong);
  border-radius: var(--radius);
  font: inherit;
  font-weight: 600;
  line-height: 1.25;
  text-align: center;
  text-decoration: none;
  color: var(--text);
  background: var(--surface);
  cursor: pointer;
  transition: background-color 0.12s;
}
.button:hover { background: var(--sunken); }
.button.primary { border-color: var(--fill); color: var(--on-fill); background: var(--fill); }
.button.danger { border-color: var(--bad); color: var(--on-bad); background: var(--bad); }
.button.primary:hover { background: color-mix(in srgb, var(--fill) 88%, var(--text)); }
.button.danger:hover { background: color-mix(in srgb, var(--bad) 88%, var(--text)); }
.button.destructive { border-color: var(--line); color: var(--bad); }
.button.destructive:hover { background: var(--bad-ground); }
.button.quiet { border-color: transparent; background: none; }
.button.quiet:hover { background: var(--sunken); }
.button.small { min-height: 2.25rem; padding: 0.25rem 0.75rem; border-color: var(--line); font-size: 0.875rem; }
.button.wide { width: 100%; }
.button[disabled] { color: var(--text-quiet); background: var(--sunken); border-color: var(--line); cursor: default; }
.link {
  padding: 0.25rem 0;
  border: 0;
  font: inherit;
  font-size: 0.875rem;
  text-align: start;
  text-decoration: underline 1px;
  text-underline-offset: 0.2em;
  color: var(--fill);
  background: none;
  cursor: pointer;
}
.buttons, .answers { display: flex; flex-wrap: wrap; gap: 0.75rem; }
/* Side by side the last button is the primary one; one above the other it is on top. */
.answers { flex-wrap: wrap-reverse; }
.answers > .button { flex: 1 1 9rem; }
.actions { display: grid; gap: 0.75rem; width: 100%; }

@media (pointer: coarse), (max-width: 40rem) {
  .button.small, .link { min-height: 2.75rem; }
}

/* Forms */

.stack { display: grid; gap: 1.25rem; }
.stack > .button:not(.wide) { justify-self: start; }
.field { display: grid; gap: 0.375rem; }
.field > label { font-size: 0.9375rem; font-weight: 600; }
.field > input {
  width: 100%;
  min-height: 2.75rem;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--line-strong);
  border-radius: var(--radius);
  font: inherit;
  color: var(--text);
  background: var(--surface);
}
.field > input:focus-visible { border-color: var(--fill); outline-width: 2px; outline-offset: 0; }
.field > input[aria-invalid] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }
.field > input, .reveal { grid-area: 2 / 1; }
.field > input[data-show] { padding-inline-end: 6.5rem; }
.reveal { justify-self: end; min-height: 2.75rem; padding-inline: 0.75rem; text-decoration: none; }
::-ms-reveal { display: none; }
.field-error { font-size: 0.875rem; font-weight: 500; color: var(--bad); }
.check { display: flex; align-items: center; gap: 0.625rem; min-height: 2.75rem; }
.check > input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--fill); }
.field > .code-input { font: 500 1.25rem var(--mono); letter-spacing: 0.08em; }

.notice {
  display: flex;
  gap: 0.75rem;
  padding: 0.75rem 1rem;
  border-radius: var(--radius);
  font-size: 0.9375rem;
  background: var(--sunken);
}
.notice > .icon { margin-top: 0.0625rem; color: var(--tone); }
.notice.error { --tone: var(--bad); background: var(--bad-ground); }
.notice.good { --tone: var(--good); background: var(--good-ground); }
.notice.warning { --tone: var(--warning); background: var(--warning-ground); }
.notice.error div { display: flex; flex-wrap: wrap; gap: 0 0.375rem; }
.notice.error li { display: inline; }
.notice.error li + li::before { content: "· "; }
.notice.error a { font-weight: 600; color: var(--text); }

/* Cards */

.card-page { flex: 1; width: 100%; max-width: 28rem; margin: 0 auto; padding: clamp(1.5rem, 8vh, 5rem) 1rem 2rem; }
.card-header { display: flex; justify-content: center; margin-bottom: 1.75rem; }
.card {
  display: grid;
  gap: 1.5rem;
  padding: 2.25rem 2.5rem;
  border: 1px solid var(--line);
  border-radius: 1rem;
  background: var(--surface);
  box-shadow: var(--shadow);
}
.card > h1 + .lead { margin-top: -1rem; }
.card > h1, .card > h1 + .lead { text-align: center; }

.ways { display: grid; gap: 0.625rem; justify-items: center; font-size: 0.9375rem; text-align: center; }
.alternative { display: grid; gap: 1rem; }
.or { display: flex; align-items: center; gap: 0.75rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
/* Takes no room, and unlike `display: none` stays known to screen readers. */
[role="status"]:empty { position: absolute; }

.person {
  display: grid;
  grid-template-columns: auto minmax(0, 1fr);
  align-items: center;
  gap: 0 0.75rem;
  padding: 0.625rem 1rem;
  border: 1px solid var(--line);
  border-radius: var(--radius);
}
.person > .link { grid-column: 2; justify-self: start; }
.person-name, .person-email { display: block; line-height: 1.35; }
.person-name { font-weight: 600; }

.app-logo, .message-icon { display: grid; place-items: center; justify-self: center; width: 3.5rem; height: 3.5rem; }
.app-logo { border: 1px solid var(--line); border-radius: 0.875rem; overflow: hidden; }
.app-logo > img { width: 100%; height: 100%; object-fit: contain; }
.app-logo > .icon, .message-icon > .icon { width: 1.75rem; height: 1.75rem; }
.app-logo + h1 { margin-top: -0.5rem; }

.scopes { display: grid; gap: 0.875rem; }
.scopes > li { display: flex; gap: 0.75rem; }
.scopes .icon, .plain .icon { margin-top: 0.125rem; }
.scopes .icon { color: var(--fill); }
.small-title + .scopes { margin-top: -0.5rem; }

.code, .address { padding: 0.875rem; border-radius: var(--radius); text-align: center; background: var(--sunken); }
.code { font: 600 clamp(1.5rem, 8vw, 2rem)/1.3 var(--mono); letter-spacing: 0.06em; }
.address { font-weight: 600; }

.message { display: grid; gap: 1rem; justify-items: center; text-align: center; }
.message-icon { border-radius: 50%; color: var(--fill); background: color-mix(in srgb, var(--fill) 12%, var(--surface)); }
.message-icon.bad { color: var(--warning); background: var(--warning-ground); }
.message > .actions:has(a) { margin-top: 0.5rem; }

/* Account console */

.top { border-bottom: 1px solid var(--line); background: var(--surface); }
.top, .top-person { display: flex; align-items: center; justify-content: space-between; gap: 0.5rem 1rem; }
.top { min-height: 4rem; padding: 0.5rem max(1rem, (100% - 66rem) / 2); }
.top-name { max-width: 24rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 0.9375rem; }
.home { display: flex; text-decoration: none; }

.console {
  flex: 1;
  display: grid;
  grid-template-columns: 13rem minmax(0, 44rem);
  align-content: start;
  gap: 3.5rem;
  width: 100%;
  max-width: 66rem;
  margin: 0 auto;
  padding: 2.5rem 0 3rem;
}
.console > main { display: grid; gap: 1.5rem; align-content: start; }
.console h1 { font-size: 1.75rem; }
.console h1 + .lead, .title-row + .lead { margin-top: -1.125rem; }
.title-row { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1rem; }

.menu ul { display: grid; gap: 0.125rem; margin-inline: -0.75rem 0; }
.menu a {
  display: flex;
  align-items: center;
  gap: 0.75rem;
  min-height: 2.75rem;
  padding: 0.375rem 0.75rem;
  border-radius: var(--radius);
  text-decoration: none;
  color: var(--text-quiet);
}
.menu a:hover { color: var(--text); background: color-mix(in srgb, var(--text) 5%, transparent); }
.menu a[aria-current] { font-weight: 600; color: var(--fill); background: color-mix(in srgb, var(--fill) 10%, transparent); }

.panel {
  display: grid;
  gap: 1rem;
  padding: 1.5rem;
  border: 1px solid var(--line);
  border-radius: 0.875rem;
  background: var(--surface);
}
.panel > .button { justify-self: start; }
.panel > form > .hint { margin-top: 0.5rem; }
.panel .field { max-width: 26rem; }
.panel > h2 + .quiet-text { margin-top: -0.75rem; }
.panel.tinted { border-color: transparent; background: color-mix(in srgb, var(--fill) 7%, var(--ground)); }
.danger-zone { border-color: color-mix(in srgb, var(--bad) 45%, var(--surface)); }

.facts { display: grid; }
.facts > div { display: grid; grid-template-columns: 11rem minmax(0, 1fr) auto; gap: 0 1rem; padding: 0.75rem 0; border-top: 1px solid var(--line); }
.facts > div:first-child { border-top: 0; padding-top: 0; }
.facts > div:last-child { padding-bottom: 0; }

.rows > li { padding: 1.125rem 0; border-top: 1px solid var(--line); }
.rows > li:first-child { border-top: 0; padding-top: 0; }
.rows > li:last-child { padding-bottom: 0; }
.row { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; align-items: center; gap: 0.75rem 1rem; }
.row > .icon, .row-logo { align-self: start; margin-top: 0.125rem; }
.row > .icon { width: 1.5rem; height: 1.5rem; }
.row-logo { width: 2rem; height: 2rem; border-radius: 0.375rem; object-fit: contain; }
.rows + * { margin-top: 0.5rem; }
.row.none { display: block; }
.warned > .icon, .warned h3 { color: var(--bad); }
.badge {
  display: inline-block;
  padding: 0 0.5rem;
  border-radius: 1rem;
  font-size: 0.8125rem;
  font-weight: 600;
  color: var(--good);
  background: var(--good-ground);
}
.can > li { display: inline; }
.can > li:not(:last-child)::after { content: " ·"; }
.empty { display: grid; justify-items: center; gap: 0.25rem; text-align: center; }
.rows > .empty { padding: 1.5rem 0; }
.empty > .icon { width: 2rem; height: 2rem; margin-bottom: 0.5rem; }

.live { display: flex; align-items: center; gap: 0.5rem; }
.live::before { content: ""; width: 0.5rem; height: 0.5rem; border-radius: 50%; background: var(--line-strong); }
.live.on::before { background: var(--good); box-shadow: 0 0 0 4px var(--good-ground); }

.list { padding-inline-start: 1.25rem; list-style: disc; }
.plain { display: grid; gap: 0.5rem; }
.plain > li { display: flex; gap: 0.75rem; }
.codes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(14rem, 100%), 1fr)); gap: 0.5rem 1.5rem; padding: 1.25rem; border-radius: var(--radius); background: var(--sunken); }
.codes code { font-size: 1.0625rem; }
.codes-panel { border-color: var(--fill); }

/* Footer */

.foot {
  display: flex;
  flex-wrap: wrap;
  justify-content: space-between;
  gap: 0.5rem 2rem;
  width: 100%;
  max-width: 66rem;
  margin: 0 auto;
  padding: 1.25rem 0 1.5rem;
  font-size: 0.875rem;
  color: var(--text-quiet);
}
.foot-list { display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
.foot-list > li { padding: 0.25rem 0; }
.foot a { text-decoration: none; color: inherit; }
.foot a:hover { text-decoration: underline; }
.foot a[aria-current] { font-weight: 600; color: var(--text); }

/* Narrow windows */

@media (max-width: 70rem) {
  .console { gap: 2rem; padding-inline: 1rem; }
  .menu ul { margin-inline: 0; }
  .foot { padding-inline: 1rem; }
}

@media (max-width: 48rem) {
  .console { grid-template-columns: minmax(0, 1fr); gap: 1.5rem; padding-top: 0; }
  .menu { margin-inline: -1rem; border-bottom: 1px solid var(--line); background: var(--surface); overflow-x: auto; scrollbar-width: none; }
  .menu ul { display: flex; width: max-content; padding: 0.25rem 0.5rem; }
  .menu a { white-space: nowrap; }
  .menu .icon { display: none; }
  .top-name { display: none; }
  .panel { padding: 1.25rem 1rem; }
  .facts > div { grid-template-columns: minmax(0, 1fr) auto; }
  .facts dt { grid-column: 1 / -1; font-size: 0.875rem; }
}

@media (max-width: 30rem) {
  .codes code { font-size: 0.8125rem; }
  .card-page { padding: 1.5rem 1rem; }
  .card { padding: 0; border: 0; border-radius: 0; background: none; box-shadow: none; }
  body:has(.card) { background: var(--surface); }
  .row { grid-template-columns: auto minmax(0, 1fr); }
  .row > form { grid-column: 2; }
  .foot { justify-content: center; }
  .foot-list { justify-content: center; }
}

@media (prefers-reduced-motion: reduce) {
  .button { transition: none; }
}

@media (forced-colors: active) {
  .notice, .badge, .code, .address { border: 1px solid; }
  .button.primary, .button.danger { forced-color-adjust: none; border-color: ButtonText; color: HighlightText; background: Highlight; }
  .menu a[aria-current] { outline: 2px solid Highlight; outline-offset: -2px; }
  .live::before { forced-color-adjust: none; background: GrayText; }
  .live.on::before { background: Highlight; }
}

@media print {
  .top, .menu, .foot, .buttons, .console > main > :not(.codes-panel, h1) { display: none; }
  .console { display: block; }
}

"""##,
    "pages.js": ##"""
// All pages work without this script. It adds: show password, passkeys, copying of codes, and the live list of devices.

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

// On a phone the menu scrolls sideways.

document.querySelector(".menu a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// Focus: screen readers do not announce an alert that was there from the start, so it is focused.

const summary = document.querySelector(".notice[role=alert]");
if (summary) {
  summary.tabIndex = -1;
  summary.focus();
} else if (matchMedia("(pointer: fine)").matches && document.activeElement === document.body) {
  all(".card input[required]").find((input) => !input.value)?.focus();
}
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

function submitPasskey(form, credential, action) {
  form.elements.passkey.value = JSON.stringify(credentialJSON(credential));
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = "action";
  field.value = action;
  form.append(field);
  // Without the check of the form: the fields for email and password stay empty.
  form.submit();
}

async function usePasskey(button) {
  const { form, dataset } = button;
  const status = form.querySelector(".passkey-status");
  status.textContent = "";
  button.disabled = true;
  try {
    const answer = await fetch(dataset.options, {
      method: "POST", headers: { "X-CSRF-Token": form.elements.csrf.value, Accept: "application/json" },
    });
    if (!answer.ok) throw new Error(answer.statusText);
    const json = await answer.json();
    const creates = dataset.passkey === "create";
    const credential = creates
      ? await navigator.credentials.create({ publicKey: creationOptions(json) })
      : await navigator.credentials.get({ publicKey: requestOptions(json) });
    submitPasskey(form, credential, creates ? "add-passkey" : "passkey");
  } catch (error) {
    const words = { NotAllowedError: dataset.cancelled, InvalidStateError: dataset.exists };
    status.textContent = words[error.name] ?? dataset.failed;
    button.disabled = false;
  }
}

for (const button of all("[data-passkey]")) {
  if (window.PublicKeyCredential) {
    button.disabled = false;
    button.addEventListener("click", () => usePasskey(button));
  } else {
    button.form.querySelector(".passkey-status").textContent = button.dataset.unsupported;
  }
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

  function show(isOn) {
    dot.hidden = false;
    dot.classList.toggle("on", isOn);
    dot.textContent = isOn ? dot.dataset.on : dot.dataset.off;
  }

  async function refresh() {
    const answer = await fetch(list.dataset.fragment, { headers: { "X-Requested-With": "fetch" } });
    if (answer.status === 401 || answer.redirected) return leave();
    if (answer.ok) update(list, await answer.text());
  }

  function connect() {
    const stream = new EventSource(list.dataset.live);
    stream.addEventListener("open", () => {
      show(true);
      refresh().catch(() => {});
    });
    for (const name of ["session-established", "session-revoked", "credential-change", "account-disabled", "account-purged"]) {
      stream.addEventListener(name, (event) => {
        if (name === "session-revoked" && JSON.parse(event.data).current) return leave();
        refresh().catch(() => {});
      });
    }
    stream.addEventListener("error", () => {
      show(false);
      // The browser reconnects by itself, but not after an answer other than 200.
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
  const hadFocus = rows.contains(document.activeElement);
  const fresh = all("li", new DOMParser().parseFromString(html, "text/html")).map((row) => {
    const old = document.getElementById(row.id);
    if (!old) return row;
    const times = all("time", row);
    all("time", old).forEach((time, index) => { if (times[index]) time.replaceWith(times[index].cloneNode(true)); });
    return old.outerHTML === row.outerHTML ? old : row;
  });
  for (const row of [...rows.children]) if (!fresh.includes(row)) row.remove();
  fresh.forEach((row, index) => {
    if (rows.children[index] !== row) rows.insertBefore(row, rows.children[index] ?? null);
  });
  if (hadFocus && !rows.contains(document.activeElement)) {
    const title = document.querySelector("h1");
    title.tabIndex = -1;
    title.focus();
  }
}

"""##,
    "passkey_status.mustache": ##"""
<p class="hint passkey-status" role="status"></p>
<noscript><p class="hint">{{> passkey.noscript}}</p></noscript>

"""##,
    "person.mustache": ##"""
{{#person}}
<form class="person" method="post">
  {{{csrf}}}
  <svg class="icon" aria-hidden="true"><use href="#icon-person"/></svg>
  <p><span class="person-name">{{name}}</span><span class="person-email">{{email}}</span></p>
  <button class="link" name="action" value="sign-out">{{> common.other_account}}</button>
</form>
{{/person}}

"""##,
    "recover.mustache": ##"""
<h1>{{title}}</h1>
<p class="lead">{{> recover.lead}}</p>
{{> notice}}
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  {{> field_email}}
  <div class="field">
    <label for="recovery_code">{{> field.recovery_code}}</label>
    <input id="recovery_code" class="code-input" name="recovery_code" value="{{recovery_code}}" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" required{{#errors.recovery_code}} aria-invalid="true" aria-describedby="recovery_code-error"{{/errors.recovery_code}}>
    {{#errors.recovery_code}}
    <p class="field-error" id="recovery_code-error">{{errors.recovery_code}}</p>
    {{/errors.recovery_code}}
  </div>
  <button class="button primary wide" name="action" value="recover">{{> sign_in.submit}}</button>
</form>
<ul class="ways">
  <li><a href="{{base}}/sign-in{{next}}">{{> common.back_to_sign_in}}</a></li>
</ul>

"""##,
    "recovery_codes.mustache": ##"""
<section class="panel codes-panel" aria-labelledby="codes-title">
  <h2 id="codes-title">{{> recovery_codes.title}}</h2>
  <p>{{> recovery_codes.advice}}</p>
  <ol class="codes" id="codes" translate="no">
    {{#codes.rows}}
    <li><code>{{.}}</code></li>
    {{/codes.rows}}
  </ol>
  <div class="buttons">
    <button class="button" type="button" hidden data-copy="codes" data-done="{{> recovery_codes.copied}}">{{> recovery_codes.copy}}</button>
    <button class="button" type="button" hidden data-print>{{> recovery_codes.print}}</button>
    <a class="button" href="{{base}}/account/security">{{> recovery_codes.done}}</a>
  </div>
  <p class="hint" role="status"></p>
</section>

"""##,
    "reset.mustache": ##"""
<h1>{{title}}</h1>
{{#expired}}
<p class="lead">{{> reset.expired}}</p>
<p><a class="button primary wide" href="{{base}}/forgot-password">{{> common.send_link}}</a></p>
<ul class="ways">
  <li><a href="{{base}}/sign-in">{{> common.back_to_sign_in}}</a></li>
</ul>
{{/expired}}
{{^expired}}
<p class="lead">{{> reset.lead}}</p>
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  <input type="hidden" name="token" value="{{token}}">
  {{#email}}
  <input type="email" value="{{email}}" autocomplete="username" readonly hidden>
  {{/email}}
  {{> field_new_password}}
  <button class="button primary wide" name="action" value="reset">{{> reset.submit}}</button>
  <p class="hint">{{> reset.signs_out}}</p>
</form>
{{/expired}}

"""##,
    "scopes.mustache": ##"""
<ul class="scopes">
  {{#scopes}}
  <li>
    <svg class="icon" aria-hidden="true"><use href="#icon-{{icon}}"/></svg>
    <div><strong>{{title}}</strong>{{#text}}<p>{{text}}</p>{{/text}}</div>
  </li>
  {{/scopes}}
</ul>

"""##,
    "sign_in.mustache": ##"""
<h1>{{title}}</h1>
{{#app}}
<p class="lead">{{> sign_in.to_app}}</p>
{{/app}}
{{#confirm}}
<p class="lead">{{> sign_in.why_confirm}}</p>
{{/confirm}}
{{> notice}}
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  {{#confirm}}
  <div class="person">
    <svg class="icon" aria-hidden="true"><use href="#icon-person"/></svg>
    <p><span class="person-name">{{email}}</span></p>
  </div>
  <input type="email" value="{{email}}" autocomplete="username" readonly hidden>
  {{/confirm}}
  {{^confirm}}
  {{> field_email}}
  {{/confirm}}
  {{^passkey_only}}
  {{> field_password}}
  <button class="button primary wide" name="action" value="sign-in">{{#confirm}}{{> common.continue}}{{/confirm}}{{^confirm}}{{> sign_in.submit}}{{/confirm}}</button>
  {{/passkey_only}}
  {{#passkeys}}
  <div class="alternative">
    {{^passkey_only}}
    <p class="or">{{> sign_in.or}}</p>
    {{/passkey_only}}
    <input type="hidden" name="passkey">
    <button class="button wide" type="button" disabled data-passkey="get" data-options="{{base}}/passkey/options" data-cancelled="{{> passkey.cancelled}}" data-failed="{{> passkey.failed}}" data-unsupported="{{> passkey.unsupported}}"><svg class="icon" aria-hidden="true"><use href="#icon-passkey"/></svg>{{> sign_in.passkey}}</button>
    {{> passkey_status}}
  </div>
  {{/passkeys}}
</form>
<ul class="ways">
  {{#can_reset}}
  <li><a href="{{base}}/forgot-password{{next}}">{{> sign_in.forgot}}</a></li>
  {{/can_reset}}
  {{#recovery}}
  <li><a href="{{base}}/recover{{next}}">{{> sign_in.recover}}</a></li>
  {{/recovery}}
  {{#cancel}}
  <li><a href="{{cancel}}">{{> common.cancel}}</a></li>
  {{/cancel}}
  {{#can_sign_up}}
  <li>{{> sign_in.new_here}} <a href="{{base}}/sign-up{{next}}">{{> sign_in.sign_up}}</a></li>
  {{/can_sign_up}}
</ul>

"""##,
    "sign_up.mustache": ##"""
<h1>{{title}}</h1>
{{#app}}
<p class="lead">{{> sign_up.to_app}}</p>
{{/app}}
{{> notice}}
{{> errors}}
<form method="post" class="stack">
  {{{csrf}}}
  {{> field_name}}
  {{> field_email}}
  {{#password_now}}
  {{> field_new_password}}
  {{/password_now}}
  <button class="button primary wide" name="action" value="sign-up">{{> sign_up.submit}}</button>
  {{^password_now}}
  <p class="hint">{{> sign_up.next}}</p>
  {{/password_now}}
</form>
<ul class="ways">
  <li>{{> sign_up.have_account}} <a href="{{base}}/sign-in{{next}}">{{> sign_in.submit}}</a></li>
</ul>

"""##,
  ]
}
#endif
