# Homebrew's formula, which `make dist` fills in and publishes nowhere.
class Handstamp < Formula
  desc "Sign in, stay signed in, and get valid access tokens"
  homepage "@repository@"
  version "@version@"
  license "Apache-2.0"

  # The archives are for Linux. On macOS the programs have to be built from source.
  depends_on :linux

  on_linux do
@archives@
  end

  def install
    %w[handstamp handstamp-server].each do |program|
      bin.install "bin/#{program}"
      man1.install "share/man/man1/#{program}.1.gz"
      bash_completion.install "share/bash-completion/completions/#{program}"
      zsh_completion.install "share/zsh/site-functions/_#{program}"
      fish_completion.install "share/fish/vendor_completions.d/#{program}.fish"
    end
    doc.install "README", *Dir["share/doc/handstamp/*"]
  end

  def caveats
    <<~TEXT
      The programs use libraries of the system, not Homebrew's. They are listed in
        #{doc}/README
    TEXT
  end

  test do
    %w[handstamp handstamp-server].each do |program|
      assert_equal version.to_s, shell_output("#{bin}/#{program} --version").strip
    end
  end
end
