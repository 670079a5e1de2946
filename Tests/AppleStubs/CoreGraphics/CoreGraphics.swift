// Stands in for Apple's CoreGraphics; see Security.swift. iOS 2, macOS 10, tvOS 9, watchOS 2.

public final class CGImage {}
