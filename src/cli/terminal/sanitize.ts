/** Escape sequences (CSI; OSC, DCS, SOS, PM and APC with what they carry; two-character ones), 7 bit and 8 bit. */
const sequences =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]?/g
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
/** Turn the direction of what follows, or are not there to be seen: text that reads other than it is. */
const invisible = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g

/** Text of a model or tool, fit for a terminal: no escape sequences, no control characters but newline and tab. */
export function stripControls(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(sequences, '').replace(controls, '')
}

/** The same on one line, blanks joined. */
export function oneLine(text: string): string {
  return stripControls(text).replace(invisible, '').replace(/\s+/g, ' ').trim()
}

/** For what a person approves: nothing is left out, what cannot be seen is spelled out as `\x1b` or `\u202e`. */
export function spellOut(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, escaped)
}

/** One JSON line. What JSON leaves bare and a terminal would obey is escaped; the value is the same. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\x9f\u2028\u2029]/g, escaped16)
}

function escaped(char: string): string {
  const code = char.charCodeAt(0)
  return code > 0xff ? escaped16(char) : `\\x${code.toString(16).padStart(2, '0')}`
}

function escaped16(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
