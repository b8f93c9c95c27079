const open = '<job-board>'
const close = '</job-board>'

/**
 * The job board as it goes over the wire: the text of the request's last message, of role `user`. (Many chat templates
 * move a `system` message to the front, which would break the server's prompt cache at every change of the board.)
 */
export function toBoardMessage(board: string): string {
  const text = board.trim()
  return isBoardMessage(text) ? text : `${open}\n${text}\n${close}`
}

export function isBoardMessage(text: string): boolean {
  return text.startsWith(open) && text.endsWith(close)
}

/** Puts a backslash before a text that begins like the board, so that no user's or tool's text is taken for it. */
export function escapeBoardTag(text: string): string {
  return /^\\*<job-board>/.test(text) ? `\\${text}` : text
}

/** Undoes `escapeBoardTag`. */
export function unescapeBoardTag(text: string): string {
  return /^\\+<job-board>/.test(text) ? text.slice(1) : text
}
