@_exported public import HandstampCore
