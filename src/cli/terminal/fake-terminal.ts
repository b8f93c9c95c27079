import { Writable } from 'node:stream'

/** A terminal that understands what a live area writes: text, newline, cursor up, erase. For tests. */
export class FakeTerminal extends Writable {
  columns = 80
  rows = 24
  readonly isTTY = true
  cursorVisible = true
  /** Everything written, as it came. */
  raw = ''
  #lines: string[] = ['']
  #row = 0
  #column = 0

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const text = chunk.toString()
    this.raw += text
    for (const part of text.match(/\x1b\[[0-?]*[@-~]|[^\x1b]/gu) ?? []) this.#take(part)
    done()
  }

  /** What a person sees, blank lines at the end left out. */
  get screen(): string[] {
    const lines = this.#lines.map((line) => line.trimEnd())
    while (lines.at(-1) === '') lines.pop()
    return lines
  }

  #take(part: string): void {
    if (part.startsWith('\x1b[')) return this.#control(part)
    if (part === '\n') return this.#moveTo(this.#row + 1, 0)
    if (part === '\r') return this.#moveTo(this.#row, 0)
    const line = this.#lines[this.#row]!.padEnd(this.#column)
    this.#lines[this.#row] = line.slice(0, this.#column) + part + line.slice(this.#column + 1)
    this.#column += 1
  }

  #control(sequence: string): void {
    const count = Number(sequence.slice(2, -1)) || 1
    const kind = sequence.at(-1)
    if (sequence === '\x1b[?25l') this.cursorVisible = false
    if (sequence === '\x1b[?25h') this.cursorVisible = true
    if (kind === 'A') this.#moveTo(Math.max(0, this.#row - count), this.#column)
    if (kind === 'G') this.#column = count - 1
    if (kind === 'K') this.#lines[this.#row] = this.#lines[this.#row]!.slice(0, this.#column)
    if (kind === 'J') {
      this.#lines.length = this.#row + 1
      this.#lines[this.#row] = this.#lines[this.#row]!.slice(0, this.#column)
    }
  }

  #moveTo(row: number, column: number): void {
    while (this.#lines.length <= row) this.#lines.push('')
    this.#row = row
    this.#column = column
  }
}
