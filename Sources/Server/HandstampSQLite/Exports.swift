@_exported public import HandstampStorage
