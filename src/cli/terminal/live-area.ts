import { displayWidth } from './display-width.ts'
import { stripControls } from './sanitize.ts'

/** The part of a terminal stream that an area needs. */
export type Screen = { write(text: string): unknown; columns?: number; rows?: number }

/** The last lines of a terminal, rewritten in place; what is logged scrolls above them. */
export interface LiveArea {
  /** Replaces the lines. Each must be narrower than the screen. */
  draw(lines: string[]): void
  /** Takes the lines away; the next `draw` starts afresh. */
  clear(): void
  /** Writes lasting lines above the area. */
  log(lines: string[]): void
  /** Leaves the lines where they are and the cursor below them, visible again. */
  close(): void
}

const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
const clearBelow = '\x1b[J'

/** Must be closed: it hides the cursor while lines are shown. */
export function createLiveArea(screen: Screen): LiveArea {
  let shown: string[] = []
  let hidden = false

  function show(lines: string[]): void {
    const cursor = lines.length > 0 && !hidden ? hideCursor : ''
    screen.write(`${cursor}${lines.map((line) => `${line}\x1b[K\n`).join('')}${clearBelow}`)
    hidden ||= lines.length > 0
    shown = lines
  }

  return {
    draw(lines) {
      screen.write(toStart(shown, columnsOf(screen)))
      show(lines)
    },
    clear() {
      screen.write(toStart(shown, columnsOf(screen)) + clearBelow + (hidden ? showCursor : ''))
      shown = []
      hidden = false
    },
    log(lines) {
      const kept = shown
      screen.write(toStart(kept, columnsOf(screen)) + clearBelow + lines.map((line) => `${line}\n`).join(''))
      if (kept.length > 0) show(kept)
    },
    close() {
      if (hidden) screen.write(showCursor)
      shown = []
      hidden = false
    },
  }
}

/** Columns of a screen, 80 when it does not say. */
export function columnsOf(screen: Screen): number {
  return screen.columns || 80
}

/** Moves up by what the lines take now: a terminal that became narrower has wrapped them. */
function toStart(lines: string[], columns: number): string {
  const height = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(visibleWidth(line) / columns)), 0)
  return height > 0 ? `\x1b[${height}A\r` : ''
}

function visibleWidth(line: string): number {
  return displayWidth(stripControls(line))
}
