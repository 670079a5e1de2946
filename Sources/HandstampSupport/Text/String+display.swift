extension String {
  /// Whether it is 1 to 200 characters, without control characters.
  package var isDisplayName: Bool { (1...200).contains(unicodeScalars.count) && isPrintable }

  /// Whether it has no control characters, nor other invisible ones that change how the rest is shown.
  package var isPrintable: Bool {
    unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: scalar == "\u{200D}"
      default: true
      }
    }
  }
}
