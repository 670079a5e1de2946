# Homebrew's formula, which `make dist` fills in and publishes nowhere.
class Handstamp < Formula
  desc "Sign in, stay signed in, and get valid access tokens"
  homepage "@repository@"
  version "@version@"
  license "Apache-2.0"

  # The archives are for Linux. On macOS the program has to be built from source.
  depends_on :linux

  on_linux do
@archives@
  end

  def install
    bin.install "bin/handstamp"
    man1.install "share/man/man1/handstamp.1.gz"
    bash_completion.install "share/bash-completion/completions/handstamp"
    zsh_completion.install "share/zsh/site-functions/_handstamp"
    fish_completion.install "share/fish/vendor_completions.d/handstamp.fish"
    doc.install "README", *Dir["share/doc/handstamp/*"]
  end

  def caveats
    <<~TEXT
      The program uses libraries of the system, not Homebrew's. They are listed in
        #{doc}/README
    TEXT
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/handstamp --version").strip
  end
end
