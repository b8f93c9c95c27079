/** The text of a paragraph as it grows; cheap however long it becomes. */
export interface InlineText {
  /** Blanks after blanks are left out. */
  add(text: string): void
  /** Exactly this. */
  addRaw(text: string): void
  /** Closes what `opening` began; where nothing came after it, it is taken back. */
  close(opening: string, closing: string): void
  /** The whole; then it is empty. */
  take(): string
}

const maxOpen = 8192
const kept = 256

export function createInlineText(): InlineText {
  const done: string[] = []
  /** The end of the text: what is done is not looked at again. */
  let open = ''

  function settle(): void {
    if (open.length <= maxOpen) return
    done.push(open.slice(0, -kept))
    open = open.slice(-kept)
  }

  // The last character alone: a search of the whole for blanks at its end would add up.
  const endsInBlank = () => /\s/.test(open.slice(-1))

  return {
    add(text) {
      open += open === '' || endsInBlank() ? text.trimStart() : text
      settle()
    },
    addRaw(text) {
      open += text
      settle()
    },
    close(opening, closing) {
      const isEmpty = open.endsWith(opening)
      const blank = endsInBlank() ? ' ' : ''
      open = isEmpty ? open.slice(0, -opening.length) : `${open.trimEnd()}${closing}${blank}`
    },
    take() {
      const text = done.splice(0).join('') + open
      open = ''
      return text
    },
  }
}
