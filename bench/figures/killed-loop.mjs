import { measureNode } from '../support/measure-process.mjs'
import { median, percentile } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

/** A session in an endless loop: how soon its thread is ended, and what that costs eight others beside it. */
export async function killedLoop({ runs }) {
  const place = createWorkplace()
  const read = { tool: 'read', args: { file_path: 'file-{{turn}}.txt' } }
  const model = `scripted:${place.script({
    rules: [
      // The model is played on the session's thread, and matches its rules there.
      { when: { agent: 'general', prompt: '^(a+)+$' }, reply: { text: 'never' } },
      { when: {}, reply: { calls: [read], delayMs: 20 } },
    ],
  })}`
  const samples = []
  try {
    for (let n = 0; n < runs; n++) {
      const args = [benchFile('programs/killed-loop.mjs'), model, place.dir]
      samples.push(JSON.parse((await measureNode(args, { env: place.env })).stdout))
    }
  } finally {
    place.remove()
  }
  const of = (pick) => median(samples.map(pick))
  return [
    { figure: 'a looping session is ended after', value: of(({ killedMs }) => killedMs), unit: 'ms', goal: 2500 },
    {
      figure: 'turns beside it, p50',
      value: of(({ after }) => median(after)),
      unit: 'ms',
      floor: of(({ before }) => median(before)),
    },
    {
      figure: 'turns beside it, p99',
      value: of(({ after }) => percentile(after, 0.99)),
      unit: 'ms',
      floor: of(({ before }) => percentile(before, 0.99)),
    },
    { figure: 'turns beside it, longest', value: of(({ after }) => Math.max(...after)), unit: 'ms' },
  ]
}
