import { loadSource } from '../support/load-source.mjs'
import { median } from '../support/statistics.mjs'
import { createWorkplace } from '../support/workplace.mjs'

const jobs = 50
const files = 8
const times = 500
const charsPerToken = 4

/** The job board's text for a parent of 50 jobs, each of which has read eight files: its size, and what making it takes. */
export async function boardText() {
  const place = createWorkplace()
  try {
    const { createBoard } = await loadSource('src/jobboard/create-board.ts', place.base)
    const board = createBoard()
    for (let n = 1; n <= jobs; n++) addJob(board, n)
    const text = board.textFor('root', '/w')
    if (!text.includes(`exp-${jobs} (`)) throw new Error(`the text does not name all ${jobs} jobs: ${text}`)
    const took = []
    for (let n = 0; n < times; n++) took.push(timeOf(() => board.textFor('root', '/w')))
    board.close()
    return [
      { figure: 'board text for 50 jobs', value: text.length / charsPerToken, unit: 'tokens', goal: 1500 },
      { figure: 'board text for 50 jobs, time to make it', value: median(took), unit: 'ms', goal: 1 },
    ]
  } finally {
    place.remove()
  }
}

function timeOf(work) {
  const began = performance.now()
  work()
  return performance.now() - began
}

/** Every third is at work, the others have ended; half of those have been taken up. */
function addJob(board, n) {
  const job = `root-exp-${n}`
  const place = { job, root: 'root', generation: 1 }
  const facts = { parent: 'root', alias: `exp-${n}`, agent: 'explorer', background: true }
  const description = `Find out how part ${n} of the program works, and what it depends on`
  board.apply({ type: 'job.launched', ...place, ...facts, description, at: n, seq: n })
  board.apply({ type: 'session.created', session: job, root: 'root' })
  for (let file = 0; file < files; file++) {
    const touch = {
      path: `/w/packages/part-${n}/src/module-${file}.ts`,
      kind: 'read',
      hash: `h${file}`,
      lines: { from: 1, to: 120, of: 120 },
    }
    board.apply({ type: 'file.touched', session: job, root: 'root', touch, stamp: { at: n, seq: file, n: 0 } })
  }
  if (n % 3 === 0) return board.apply({ type: 'job.changed', job, generation: 1, state: 'running' })
  const end = { state: 'completed', text: 'found', usage: { inputTokens: 1, outputTokens: 1 }, turns: 3, at: n }
  board.apply({ type: 'job.finished', ...place, end })
  if (n % 3 === 1) board.apply({ type: 'job.delivered', ...place, end })
}
