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
  static let all = [
    PublishedMetric("sign_ups_total", "Accounts created by sign-up.") { $0.signUps },
    PublishedMetric("sign_ins_total", "Sessions begun by a password or another identity provider.") { $0.signIns },
    PublishedMetric("guests_total", "Guest accounts created.") { $0.guests },
    PublishedMetric("upgrades_total", "Guest accounts upgraded to full ones.") { $0.upgrades },
    PublishedMetric("password_changes_total", "Passwords changed or reset.") { $0.passwordChanges },
    PublishedMetric("accounts_deleted_total", "Accounts deleted.") { $0.accountsDeleted },
    PublishedMetric("mails_sent_total", "Mails handed over for delivery.") { $0.mailsSent },
    PublishedMetric("mails_failed_total", "Attempts to hand a mail over that failed.") { $0.mailsFailed },
    PublishedMetric("mails_abandoned_total", "Mails that were given up.") { $0.mailsAbandoned },
    PublishedMetric("logouts_sent_total", "Clients told that a session has ended.") { $0.logoutsSent },
    PublishedMetric("logouts_failed_total", "Attempts to tell a client of an ended session that failed.") {
      $0.logoutsFailed
    },
    PublishedMetric("logouts_abandoned_total", "Ended sessions that a client could not be told of.") {
      $0.logoutsAbandoned
    },
    PublishedMetric("pruned_total", "Rows deleted after their retention.") { $0.pruned },
    PublishedMetric("refused_sign_ins_total", "Sign-ins with a wrong address or password.") { $0.refusedSignIns },
    PublishedMetric("guesses_stopped_total", "Passwords not checked, because too many were wrong.") {
      $0.guessesStopped
    },
    PublishedMetric("rate_limited_total", "Requests refused because of a limit.") { $0.rateLimited },
    PublishedMetric("password_hashes_total", "Runs of Argon2.") { $0.passwordHashes },
    PublishedMetric("password_queue", "Requests that hash a password, or wait for it.") { $0.passwordQueue },
    PublishedMetric("rotations_total", "Refreshes that rotated the token.") { $0.rotations },
    PublishedMetric("kept_tokens_total", "Refreshes of clients with a secret or a proof, whose refresh token stayed.") {
      $0.kept
    },
    PublishedMetric("repeats_total", "Retried refreshes that got the same successor.") { $0.repeats },
    PublishedMetric("superseded_total", "Refreshes with a token and key that were answered long ago.") {
      $0.superseded
    },
    PublishedMetric("thefts_total", "Sessions ended because a refresh token was used twice.") { $0.thefts },
    PublishedMetric("fast_forwards_total", "Refreshes with a token ahead of a store that had lost commits.") {
      $0.fastForwards
    },
    PublishedMetric("garbage_total", "Refresh tokens that this server did not issue, or that were damaged.") {
      $0.garbage
    },
    PublishedMetric("revocations_total", "Sessions ended by request.") { $0.revocations },
    PublishedMetric("refused_tokens_total", "Requests refused because of their access token.") { $0.refusedTokens },
    PublishedMetric("open_streams", "Open event streams.") { $0.openStreams },
    PublishedMetric("replaced_streams_total", "Event streams that ended for a newer one of their session.") {
      $0.replacedStreams
    },
    PublishedMetric("refused_streams_total", "Event streams refused because too many were open.") { $0.refusedStreams },
    PublishedMetric("events_sent_total", "Events written to streams.") { $0.eventsSent },
    PublishedMetric("open_feeds", "Open revocation feeds of verifiers.") { $0.openFeeds },
    PublishedMetric("refused_feeds_total", "Revocation feeds refused because too many were open.") { $0.refusedFeeds },
    PublishedMetric("revocations_sent_total", "Ended sessions written to revocation feeds.") { $0.revocationsSent },
    PublishedMetric("connections_total", "Connections accepted.") { $0.connections },
    PublishedMetric("open_connections", "Open connections.") { $0.openConnections },
    PublishedMetric("closed_idle_connections_total", "Idle connections closed for new ones.") {
      $0.closedIdleConnections
    },
    PublishedMetric("refused_connections_total", "Connections closed at once, because too many were open.") {
      $0.refusedConnections
    },
    PublishedMetric("accept_failures_total", "Failures to accept a connection.") { $0.acceptFailures },
    PublishedMetric("idle_frames_total", "Connections closed because much came that was part of no request.") {
      $0.idleFrames
    },
    PublishedMetric("slow_requests_total", "Requests that took too long to arrive.") { $0.slowRequests },
    PublishedMetric("slow_readers_total", "Connections closed because the client accepted no answer.") {
      $0.slowReaders
    },
    PublishedMetric("certificates_loaded_total", "Certificates loaded while the server ran.") { $0.certificatesLoaded },
    PublishedMetric("certificates_refused_total", "New certificates that could not be used.") {
      $0.certificatesRefused
    },
    PublishedMetric("store_failures_total", "Failed operations of the store.") { $0.storeFailures },
    PublishedMetric("store_accounts", "Accounts in the store, counted every minute.") { $0.storedAccounts },
    PublishedMetric("store_sessions", "Sessions in the store that have not ended, counted every minute.") {
      $0.storedSessions
    },
  ]
}
#endif
