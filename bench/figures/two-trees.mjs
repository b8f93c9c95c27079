import { measureNode } from '../support/measure-process.mjs'
import { median } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

const children = 200

/** 200 children on one slot, and a second tree of a single turn: how many replies it has to wait for. */
export async function twoTrees({ runs }) {
  const place = createWorkplace()
  const task = (n) => ({ tool: 'task', args: { agent: 'explorer', prompt: `Part ${n}`, background: true } })
  const model = `scripted:${place.script({
    model: { context: 200_000, parameters: '70B' },
    server: { parallel: 1 },
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: Array.from({ length: children }, (_, n) => task(n)) },
      },
      {
        when: { agent: 'explorer', turn: 1 },
        reply: { calls: [{ tool: 'read', args: { file_path: 'file-1.txt' } }], delayMs: 5 },
      },
      { when: {}, reply: { text: 'Done.', delayMs: 5 } },
    ],
  })}`
  const waits = []
  try {
    for (let n = 0; n < runs; n++) {
      const { stdout } = await measureNode([benchFile('programs/two-trees.mjs'), model, place.dir], { env: place.env })
      const { delivered, waits: some } = JSON.parse(stdout)
      if (delivered !== children) throw new Error(`${delivered} of ${children} children were delivered`)
      waits.push(...some)
    }
  } finally {
    place.remove()
  }
  const name = "200 children, another tree's turn waits"
  return [
    { figure: `${name}, p50`, value: median(waits), unit: 'replies', goal: 2 },
    { figure: `${name}, longest`, value: Math.max(...waits), unit: 'replies', goal: 2 },
  ]
}
