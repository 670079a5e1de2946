#if Operator
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Logging
import UnixSignals

/// Takes over changed settings while the server runs. Settings that cannot be used change nothing.
struct SettingsReloader: Sendable {
  let server: SessionServer
  let store: any ServerStore
  let keys: ServerKeys
  let log: ServerLog
  let watch: SigningKeyWatch
  let current: Locked<ServeSettings>
  let read: @Sendable () throws(CommandError) -> ServeSettings

  /// Reloads at every SIGHUP, until the task is cancelled.
  func run(_ notifier: ServiceNotifier) async {
    let signals = await UnixSignalsSequence(trapping: .sighup)
    await withDiscardingTaskGroup { group in
      // Beside the signals: a large store takes a while to count.
      group.addTask { await warnOfClients() }
      for await _ in signals {
        notifier.reloading()
        await reload()
        notifier.ready()
        group.addTask { await warnOfClients() }
      }
    }
  }

  private func warnOfClients() async {
    for warning in await server.current.clientWarnings(in: server.registry) {
      log.logger.warning("Check the settings", metadata: ["handstamp.warning": "\(warning)"])
    }
  }

  func reload() async {
    let logger = log.logger
    // Whether or not the settings can be used.
    server.reloadCertificate()
    do {
      let settings = try read()
      let previous = current.withLock { $0 }
      for setting in ServeSettings.all
      where setting.needsRestart && settings.values[setting.name]?.text != previous.values[setting.name]?.text {
        logger.warning("Setting needs a restart", metadata: ["handstamp.setting": "\(setting.name)"])
      }
      let signing = try settings.signingKeys()
      try await settings.apply(to: server, store: store, keys: keys)
      await watch.replace(by: signing)
      log.level = settings.logLevel
      current.withLock { $0 = settings }
      for warning in settings.warnings {
        logger.warning("Check the settings", metadata: ["handstamp.warning": "\(warning)"])
      }
      logger.notice("Settings reloaded")
    } catch let refusal as CommandError {
      logger.error(
        "Settings not reloaded",
        metadata: ["handstamp.cause": "\(refusal.message)", "handstamp.hint": "\(refusal.hint)"])
    } catch {
      logger.error("Settings not reloaded", metadata: ["handstamp.cause": "\(error)"])
    }
  }
}
#endif
