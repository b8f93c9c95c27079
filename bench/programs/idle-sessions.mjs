// Runs 1,000 root sessions of one turn each, all of which stay known, and prints the main thread's heap for each of them.
import { createTroupe } from '../../dist/index.js'

const [, , model, dir] = process.argv
const warmUp = 50
const sessions = 1000

const troupe = await createTroupe({ model, dir, permission: 'deny' })
await runMany(warmUp)
const before = heap()
await runMany(sessions)
const after = heap()
await troupe.close()
console.log(JSON.stringify({ kbEach: (after - before) / 1024 / sessions }))

async function runMany(count) {
  for (let done = 0; done < count; done += 10) {
    await Promise.all(Array.from({ length: 10 }, () => troupe.run({ prompt: 'Go', agent: 'lead' }).finished))
  }
}

function heap() {
  for (let n = 0; n < 4; n++) globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
