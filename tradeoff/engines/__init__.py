"""Loss laws in, certified numbers out; no privacy policy here."""
