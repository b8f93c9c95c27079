import { measureNode } from '../support/measure-process.mjs'
import { medians } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

const children = 5
const turns = 8
// 20 times the speed of a real machine, so that the figure takes seconds and not minutes.
const speedup = 20
const server = { parallel: 1, prefillTps: 500 * speedup, decodeTps: 30 * speedup }

/**
 * Five children of eight turns and their lead on one model slot, beside the ideal order (one child after the other), and
 * beside a queue that is first come, first served: the server's own, when it is sent every request at once.
 */
export async function oneSlot({ runs }) {
  const place = createWorkplace()
  const ideal = place.script(script(oneAfterTheOther))
  const atOnce = place.script(script(allAtOnce))
  const floors = []
  const samples = []
  const firstCome = []
  try {
    for (let n = 0; n < runs; n++) {
      floors.push(await play(place, ideal))
      samples.push(await play(place, atOnce))
      firstCome.push(await play(place, atOnce, 64))
    }
  } finally {
    place.remove()
  }
  const floor = medians(floors)
  const { runMs, prefilledTokens, cachedTokens } = medians(samples)
  const queue = medians(firstCome)
  return [
    { figure: '5 children on one slot', value: runMs, unit: 'ms', floor: floor.runMs, goal: floor.runMs * 1.15 },
    { figure: '5 children on one slot, tokens read', value: prefilledTokens, unit: '', floor: floor.prefilledTokens },
    { figure: '5 children on one slot, tokens still cached', value: cachedTokens, unit: '', floor: floor.cachedTokens },
    { figure: '5 children on one slot, first come', value: queue.runMs, unit: 'ms', floor: floor.runMs },
    {
      figure: '5 children on one slot, first come, tokens read',
      value: queue.prefilledTokens,
      unit: '',
      floor: floor.prefilledTokens,
    },
  ]
}

async function play(place, path, slots = 1) {
  const { startScriptedServer } = await import('../../dist/index.js')
  const running = await startScriptedServer({ path })
  try {
    const args = [benchFile('programs/run-troupe.mjs'), 'ollama/scripted', place.dir, String(slots)]
    const { stdout } = await measureNode(args, { env: { ...place.env, OLLAMA_HOST: running.url } })
    const { runMs, delivered } = JSON.parse(stdout)
    if (delivered !== children) throw new Error(`${delivered} of ${children} children were delivered`)
    return { runMs, ...running.load() }
  } finally {
    await running.close()
  }
}

const usage = { output: 40 }
const task = (background) => ({
  tool: 'task',
  args: {
    agent: 'explorer',
    prompt: `Part {{turn}}. ${'Read the files, one after the other. '.repeat(500)}`,
    background,
  },
})

const allAtOnce = [{ when: { agent: 'lead', turn: 1 }, reply: { calls: Array(children).fill(task(true)), usage } }]
const oneAfterTheOther = [{ when: { agent: 'lead', turn: `<=${children}` }, reply: { calls: [task(false)], usage } }]

function script(first) {
  return {
    model: { context: 32768, parameters: '70B', tools: true },
    server,
    rules: [
      ...first,
      {
        when: { agent: 'explorer', turn: `<${turns}` },
        reply: { calls: [{ tool: 'read', args: { file_path: 'file-{{turn}}.txt' } }], usage },
      },
      { when: {}, reply: { text: 'Done.', usage } },
    ],
  }
}
