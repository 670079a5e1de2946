#if Server
/// A number of ``ServerMetrics/Snapshot`` as the metrics page names it. The names follow Prometheus: a counter
/// ends in `_total`.
struct PublishedMetric: Sendable {
  enum Kind: Sendable {
    /// Only ever grows while the server runs.
    case counter
    /// A level at the moment.
    case gauge
  }

  let name: String
  let kind: Kind
  let help: String
  let value: @Sendable (ServerMetrics.Snapshot) -> Int

  private init(
    _ name: String, _ help: String, _ value: @escaping @Sendable (ServerMetrics.Snapshot) -> Int
  ) {
    self.name = "handstamp_" + name
    kind = name.hasSuffix("_total") ? .counter : .gauge
    self.help = help
    self.value = value
  }

  /// All of them. A test compares them with the snapshot's properties.
  static let all: [PublishedMetric] = [
    .init("sign_ups_total", "Accounts created by sign-up.", \.signUps),
    .init("sign_ins_total", "Sessions begun by a password or another identity provider.", \.signIns),
    .init("guests_total", "Guest accounts created.", \.guests),
    .init("upgrades_total", "Guest accounts upgraded to full ones.", \.upgrades),
    .init("password_changes_total", "Passwords changed or reset.", \.passwordChanges),
    .init("accounts_deleted_total", "Accounts deleted.", \.accountsDeleted),
    .init("mails_sent_total", "Mails handed over for delivery.", \.mailsSent),
    .init("mails_failed_total", "Attempts to hand a mail over that failed.", \.mailsFailed),
    .init("mails_abandoned_total", "Mails that were given up.", \.mailsAbandoned),
    .init("logouts_sent_total", "Clients told that a session has ended.", \.logoutsSent),
    .init("logouts_failed_total", "Attempts to tell a client of an ended session that failed.", \.logoutsFailed),
    .init("logouts_abandoned_total", "Ended sessions that a client could not be told of.", \.logoutsAbandoned),
    .init("upstream_ends_total", "Events of providers that ended sessions.", \.upstreamEnds),
    .init(
      "upstream_unknown_total", "Events of providers about users or sessions without a session here.", \.upstreamUnknown
    ),
    .init("upstream_repeats_total", "Events of providers that had been applied before.", \.upstreamRepeats),
    .init("upstream_refusals_total", "Events that were not a provider's, or not for this server.", \.upstreamRefusals),
    .init("webhooks_sent_total", "Events that receivers of webhooks have taken.", \.webhooksSent),
    .init("webhooks_failed_total", "Attempts to tell a receiver of an event that failed.", \.webhooksFailed),
    .init("webhooks_abandoned_total", "Events that a receiver has not taken for a day.", \.webhooksAbandoned),
    .init("webhook_backlog", "Events that receivers are still to be told of.", \.webhookBacklog),
    .init("former_sessions_total", "Sessions taken over from the former system.", \.formerSessions),
    .init("former_refusals_total", "Tokens of the former system that were refused.", \.formerRefusals),
    .init(
      "former_losses_total", "Sessions of the former system lost with an answer of its token endpoint.", \.formerLosses),
    .init("former_ends_total", "Sessions ended at the former system.", \.formerEnds),
    .init(
      "former_ends_abandoned_total", "Sessions that could not be ended at the former system.", \.formerEndsAbandoned),
    .init("pruned_total", "Rows deleted after their retention.", \.pruned),
    .init("refused_sign_ins_total", "Sign-ins with a wrong address or password.", \.refusedSignIns),
    .init("guesses_stopped_total", "Passwords not checked, because too many were wrong.", \.guessesStopped),
    .init("rate_limited_total", "Requests refused because of a limit.", \.rateLimited),
    .init("password_hashes_total", "Runs of Argon2.", \.passwordHashes),
    .init("password_queue", "Requests that hash a password, or wait for it.", \.passwordQueue),
    .init("rotations_total", "Refreshes that rotated the token.", \.rotations),
    .init("kept_tokens_total", "Refreshes of clients with a secret or a proof, whose refresh token stayed.", \.kept),
    .init("repeats_total", "Retried refreshes that got the same successor.", \.repeats),
    .init("superseded_total", "Refreshes with a token and key that were answered long ago.", \.superseded),
    .init("thefts_total", "Sessions ended because a refresh token was used twice.", \.thefts),
    .init("fast_forwards_total", "Refreshes with a token ahead of a store that had lost commits.", \.fastForwards),
    .init("garbage_total", "Refresh tokens that this server did not issue, or that were damaged.", \.garbage),
    .init("revocations_total", "Sessions ended by request.", \.revocations),
    .init("refused_tokens_total", "Requests refused because of their access token.", \.refusedTokens),
    .init("open_streams", "Open event streams.", \.openStreams),
    .init("replaced_streams_total", "Event streams that ended for a newer one of their session.", \.replacedStreams),
    .init("refused_streams_total", "Event streams refused because too many were open.", \.refusedStreams),
    .init("events_sent_total", "Events written to streams.", \.eventsSent),
    .init("open_feeds", "Open revocation feeds of verifiers.", \.openFeeds),
    .init("refused_feeds_total", "Revocation feeds refused because too many were open.", \.refusedFeeds),
    .init("revocations_sent_total", "Ended sessions written to revocation feeds.", \.revocationsSent),
    .init("connections_total", "Connections accepted.", \.connections),
    .init("open_connections", "Open connections.", \.openConnections),
    .init("closed_idle_connections_total", "Idle connections closed for new ones.", \.closedIdleConnections),
    .init("refused_connections_total", "Connections closed at once, because too many were open.", \.refusedConnections),
    .init("accept_failures_total", "Failures to accept a connection.", \.acceptFailures),
    .init("idle_frames_total", "Connections closed because much came that was part of no request.", \.idleFrames),
    .init("slow_requests_total", "Requests that took too long to arrive.", \.slowRequests),
    .init("slow_readers_total", "Connections closed because the client accepted no answer.", \.slowReaders),
    .init("certificates_loaded_total", "Certificates loaded while the server ran.", \.certificatesLoaded),
    .init("certificates_refused_total", "New certificates that could not be used.", \.certificatesRefused),
    .init("store_failures_total", "Failed operations of the store.", \.storeFailures),
    .init("store_accounts", "Accounts in the store, counted every minute.", \.storedAccounts),
    .init("store_sessions", "Sessions in the store that have not ended, counted every minute.", \.storedSessions),
  ]
}
#endif
