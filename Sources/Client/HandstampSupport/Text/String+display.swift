extension String {
  /// Whether it is 1 to 200 characters, without control characters.
  package var isLabel: Bool { (1...200).contains(unicodeScalars.count) && isPrintable }

  /// Whether it is such a text of which something is seen.
  package var isDisplayName: Bool { isLabel && isShown }

  /// Whether anything of it is seen: not if it is empty, or only blanks and fillers.
  package var isShown: Bool { unicodeScalars.contains { !$0.isUnseen } }

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
