import Foundation
import UIKit

/// Posts the text that a user shares from another app.
final class ShareViewController: UIViewController {
  override func viewDidAppear(_ animated: Bool) {
    super.viewDidAppear(animated)
    Task { await post() }
  }

  private func post() async {
    let item = extensionContext?.inputItems.first as? NSExtensionItem
    do {
      let text = item?.attributedContentText?.string ?? ""
      guard try await ExtensionSession.shared.send(NewPost(text: text)) else { throw SignedOut() }
      // Only now: the system suspends the extension soon after.
      extensionContext?.completeRequest(returningItems: nil)
    } catch let error as SignedOut {
      show(error.errorDescription)
    } catch {
      show("The post was not sent. Please try again.")
    }
  }

  private func show(_ message: String?) {
    let alert = UIAlertController(title: nil, message: message, preferredStyle: .alert)
    alert.addAction(
      UIAlertAction(title: "OK", style: .cancel) { [weak self] _ in
        self?.extensionContext?.cancelRequest(withError: CancellationError())
      })
    present(alert, animated: true)
  }
}
