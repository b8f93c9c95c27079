// One run through the library, as a user's own program would do it: `run-troupe.mjs MODEL DIR [SLOTS [MAX_CHILDREN]]`. Prints as JSON how long
// the run itself took, without the start of the program.
import { createTroupe } from '../../dist/index.js'

const [, , model, dir, slots = '64', maxChildren] = process.argv
const config = {
  limits: { maxTurns: 100_000, ...(maxChildren && { maxChildren: Number(maxChildren) }) },
  servers: { ollama: { slots: Number(slots), contextTokens: 1_000_000 } },
}
const troupe = await createTroupe({ model, dir, config, permission: 'deny' })
const began = performance.now()
const finished = await troupe.run({ prompt: 'Go', agent: 'lead' }).finished
const runMs = performance.now() - began
await troupe.close()
const { status, text, jobs } = finished
if (status !== 'done') throw new Error(`the run ended as ${status}: ${text}`)
console.log(JSON.stringify({ runMs, delivered: jobs.filter((job) => job.delivered).length }))
