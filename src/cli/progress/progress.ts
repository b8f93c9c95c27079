import type { RuntimeEvent } from '../../core/events.ts'
import { createLiveArea, type Screen } from '../terminal/live-area.ts'
import { createStyle, type Style } from '../terminal/style.ts'
import { noteLine, plainLine } from './event-line.ts'
import { liveLines, summary } from './live-lines.ts'
import { applyEvent, createView } from './view.ts'

/** Shows a run on stderr while it goes on. */
export interface Progress {
  take(event: RuntimeEvent): void
  /** A lasting line of the command line's own. */
  note(line: string): void
  /** Nothing is drawn or noted until `resume`: somebody else has the screen. */
  pause(): void
  resume(): void
  /** Leaves the last state on the screen. */
  close(): void
}

/** `live`: updated in place; `plain`: a line for each thing that happens; `quiet`: trouble only. */
export type ProgressKind = 'live' | 'plain' | 'quiet'

export type ProgressOptions = { kind: ProgressKind; screen: Screen; style?: Style; now?: () => number }

/** Rows of the terminal that stay free for what is said above the lines, such as what Ctrl-C did. */
const noteRows = 5

/** Must be closed: a live one has a timer and hides the cursor. */
export function createProgress({ kind, screen, style, now }: ProgressOptions): Progress {
  if (kind === 'live')
    return createLiveProgress(screen, style ?? createStyle(false), now ?? performance.now.bind(performance))
  return createPlainProgress(kind, screen)
}

const drawEveryMs = 100
/** The clock of the summary line goes on when nothing happens. */
const tickMs = 1000

function createLiveProgress(screen: Screen, style: Style, now: () => number): Progress {
  const view = createView()
  const area = createLiveArea(screen)
  const startedAt = now()
  let paused = false
  let closed = false
  const held: string[] = []
  let pending: ReturnType<typeof setTimeout> | undefined
  const ticks = setInterval(() => draw(), tickMs)
  ticks.unref()
  const restoreCursor = () => area.close()
  process.once('exit', restoreCursor)

  function draw(): void {
    clearTimeout(pending)
    pending = undefined
    if (paused || closed || view.rows.size === 0) return
    area.draw(lines(Math.max(4, (screen.rows || 24) - noteRows)))
  }

  function lines(maxLines: number): string[] {
    return liveLines(view, { columns: screen.columns || 80, maxLines, style, elapsedMs: now() - startedAt })
  }

  function note(line: string): void {
    if (closed) screen.write(`${line}\n`)
    else if (paused) held.push(line)
    else area.log([line])
  }

  function logHeld(): void {
    if (held.length > 0) area.log(held.splice(0))
  }

  return {
    note,
    take(event) {
      const line = noteLine(view, event)
      applyEvent(view, event)
      if (line !== undefined) note(line)
      pending ??= setTimeout(draw, drawEveryMs)
    },
    pause() {
      paused = true
      area.clear()
    },
    resume() {
      paused = false
      logHeld()
      draw()
    },
    close() {
      if (closed) return
      clearInterval(ticks)
      logHeld()
      draw()
      closed = true
      area.close()
      process.removeListener('exit', restoreCursor)
    },
  }
}

function createPlainProgress(kind: 'plain' | 'quiet', screen: Screen): Progress {
  const view = createView()
  const lineOf = kind === 'plain' ? plainLine : noteLine
  const startedAt = performance.now()
  let closed = false
  return {
    take(event) {
      const line = lineOf(view, event)
      applyEvent(view, event)
      if (line !== undefined) screen.write(`${line}\n`)
    },
    note: (line) => void screen.write(`${line}\n`),
    pause() {},
    resume() {},
    close() {
      const rows = [...view.rows.values()]
      if (kind === 'plain' && !closed && rows.length > 0)
        screen.write(`${summary(rows, performance.now() - startedAt)}\n`)
      closed = true
    },
  }
}
