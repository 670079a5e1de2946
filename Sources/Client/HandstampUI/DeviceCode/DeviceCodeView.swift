#if canImport(SwiftUI)
import Foundation
import HandstampCore
public import SwiftUI

#if canImport(CoreImage) && !os(watchOS)
import CoreGraphics
import CoreImage
#endif

/// Sign-in by a code that the user enters or scans on another device; for tvOS.
public struct DeviceCodeView: View {
  @State private var model: DeviceCodeModel
  @State private var attempt = 0

  public init(_ model: DeviceCodeModel) { _model = State(initialValue: model) }

  public var body: some View {
    VStack(spacing: 24) {
      switch model.state {
      case .asking: WaitingView(.loading)
      case .done: WaitingView(.loading)
      case .showing(let prompt): shown(prompt)
      case .expired: obstacle(Word.codeExpired.text)
      case .failed(let wording): obstacle(wording.text)
      }
    }
    .task(id: attempt) { await model.run() }
  }

  @ViewBuilder private func shown(_ prompt: DeviceCodePrompt) -> some View {
    Text(verbatim: Word.enterCode.text).font(.title2)
    Text(verbatim: prompt.code)
      .font(.largeTitle)
      .monospaced()
      // Spelled out: a code is not a word.
      .accessibilityLabel(Text(verbatim: prompt.code.map(String.init).joined(separator: " ")))
    Text(verbatim: Wording(.codeAt, prompt.address).text).font(.footnote)
    QRCode(prompt.completeAddress ?? prompt.address)
  }

  @ViewBuilder private func obstacle(_ text: String) -> some View {
    Text(verbatim: text).multilineTextAlignment(.center)
    Button(Word.tryAgain.text) { attempt += 1 }
  }
}

/// A text as a QR code, where the system can draw one.
private struct QRCode: View {
  private let text: String
  init(_ text: String) { self.text = text }

  var body: some View {
    #if canImport(CoreImage) && !os(watchOS)
    if let image {
      Image(image, scale: 1, label: Text(verbatim: Wording(.codeAt, text).text))
        .interpolation(.none)
        .resizable()
        .frame(width: 240, height: 240)
    }
    #else
    EmptyView()
    #endif
  }

  #if canImport(CoreImage) && !os(watchOS)
  private var image: CGImage? {
    guard let filter = CIFilter(name: "CIQRCodeGenerator") else { return nil }
    filter.setValue(Data(text.utf8), forKey: "inputMessage")
    filter.setValue("M", forKey: "inputCorrectionLevel")
    guard let drawn = filter.outputImage else { return nil }
    return CIContext().createCGImage(drawn, from: drawn.extent)
  }
  #endif
}

#if DEBUG
struct DeviceCodeView_Previews: PreviewProvider {
  static var previews: some View {
    DeviceCodeView(
      DeviceCodeModel { show async throws(SessionError) in
        await show(
          DeviceCodePrompt(code: "WDJB-MJHT", address: "https://example.org/device", completeAddress: nil))
      }
    )
  }
}
#endif
#endif
