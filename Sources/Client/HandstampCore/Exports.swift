@_exported public import HandstampModel
