#if Server
import Foundation

/// A color in sRGB, and what goes with it.
struct AccentColor: Sendable, Hashable {
  /// Each from 0 to 1.
  private let red, green, blue: Double

  private init(_ red: Double, _ green: Double, _ blue: Double) {
    (self.red, self.green, self.blue) = (red, green, blue)
  }

  static let white = AccentColor(1, 1, 1)
  /// The background of cards in dark mode.
  private static let dark = AccentColor(0x18 / 255, 0x1B / 255, 0x22 / 255)
  /// The least contrast of text (WCAG 2.2 section 1.4.3).
  private static let least = 4.5

  /// Parses `#rrggbb`.
  init?(_ text: String) {
    let digits = text.dropFirst()
    guard text.hasPrefix("#"), digits.utf8.count == 6, digits.allSatisfy(\.isHexDigit),
      let number = Int(digits, radix: 16)
    else { return nil }
    self.init(Double(number >> 16 & 255) / 255, Double(number >> 8 & 255) / 255, Double(number & 255) / 255)
  }

  var text: String {
    let parts = [red, green, blue].map { String(Int(($0 * 255).rounded()), radix: 16) }
    return "#" + parts.map { $0.count == 1 ? "0" + $0 : $0 }.joined()
  }

  /// The custom properties for both modes.
  var style: String {
    let (light, dark) = (readable(on: .white), readable(on: AccentColor.dark))
    return ":root{--accent:\(light.text);--on-accent:\(light.on.text);--accent-dark:\(dark.text);"
      + "--on-accent-dark:\(dark.on.text)}"
  }

  /// White or almost black, whichever is easier to read on it.
  private var on: AccentColor {
    contrast(to: .white) >= contrast(to: AccentColor.dark) ? .white : AccentColor.dark
  }

  /// Returns the nearest color that can be read on that background, and that has a readable text on it.
  private func readable(on background: AccentColor) -> AccentColor {
    let target = background == .white ? AccentColor(0, 0, 0) : .white
    let steps = (0...50).map { mixed(with: target, Double($0) / 50) }
    return steps.first {
      $0.contrast(to: background) >= AccentColor.least && $0.contrast(to: $0.on) >= AccentColor.least
    }
      ?? target
  }

  private func mixed(with other: AccentColor, _ share: Double) -> AccentColor {
    func mix(_ one: Double, _ two: Double) -> Double { one + (two - one) * share }
    return AccentColor(mix(red, other.red), mix(green, other.green), mix(blue, other.blue))
  }

  /// The contrast ratio (WCAG 2.2, definitions).
  func contrast(to other: AccentColor) -> Double {
    let (one, two) = (luminance, other.luminance)
    return (max(one, two) + 0.05) / (min(one, two) + 0.05)
  }

  private var luminance: Double {
    func linear(_ part: Double) -> Double { part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4) }
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
  }
}
#endif
