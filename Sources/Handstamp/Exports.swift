public import HandstampCore
@_exported public import HandstampModel
@_exported public import HandstampVaults

/// Aliases, so that these types can be written in an app's own signatures after `import Handstamp`.
public typealias Vault = HandstampCore.Vault
public typealias SessionClock = HandstampCore.SessionClock
public typealias AuditLog = HandstampCore.AuditLog
