/** What stands where a secret was. */
export const removedMark = '[removed]'

/** Things that are secrets by their form: keys of well-known services, tokens, private keys. */
const forms = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[opsur]|github_pat|glpat|npm|hf|pypi)[_-][A-Za-z0-9_-]{16,}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
]

/** Things that are secrets by what is said of them; what stands before the secret is kept. */
const contexts = [
  /(\b(?:Bearer|Basic)\s+)[A-Za-z0-9+/=._~-]{8,}/gi,
  /(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:)[^\s/@]+(?=@)/gi,
  /((?:^|[^A-Za-z0-9])(?:[A-Za-z0-9]+[_-])*(?:api[_-]?key|secret|token|passw(?:or)?d|authorization|private[_-]?key)(?:[_-][A-Za-z0-9]+)*["']?\s*[:=]\s*["']?)[^\s"',;}]{6,}/gim,
]

/** A text without keys, tokens and passwords. Errs on the side of removing. */
export function removeSecrets(text: string): string {
  const withoutForms = forms.reduce((rest, form) => rest.replace(form, removedMark), text)
  return contexts.reduce((rest, context) => rest.replace(context, `$1${removedMark}`), withoutForms)
}

/** The same for every string within a value. */
export function removeSecretsWithin(value: unknown): unknown {
  if (typeof value === 'string') return removeSecrets(value)
  if (Array.isArray(value)) return value.map(removeSecretsWithin)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isSecretKey(key, item) ? removedMark : removeSecretsWithin(item)]),
  )
}

function isSecretKey(key: string, value: unknown): boolean {
  return typeof value === 'string' && /api[_-]?key|secret|token$|passw(or)?d|authorization/i.test(key)
}
