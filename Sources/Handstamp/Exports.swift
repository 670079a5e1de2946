public import HandstampCore
@_exported public import HandstampModel
@_exported public import HandstampVaults

/// The types of parameters, by the name that an app needs for a function of its own. Their authors import `HandstampCore`.
public typealias Vault = HandstampCore.Vault
public typealias SessionClock = HandstampCore.SessionClock
public typealias AuditLog = HandstampCore.AuditLog
