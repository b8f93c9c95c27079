import { expect, test } from 'vitest'
import { createGate } from './server-gate.ts'

const never = new AbortController().signal

test('an open gate lets all pass at once', async () => {
  const gate = createGate()
  await Promise.all(Array.from({ length: 100 }, () => gate.pass(never)))
})

test('after a fault one goes first, and the others follow when the server has answered', async () => {
  const gate = createGate()
  gate.close(30)
  let passed = 0
  const all = Array.from({ length: 20 }, () => gate.pass(never).then(() => (passed += 1)))
  await Promise.race(all)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(passed).toBe(1)
  gate.open()
  await Promise.all(all)
  expect(passed).toBe(20)
})

test('if the first one fails as well, all wait again', async () => {
  const gate = createGate()
  gate.close(20)
  await gate.pass(never)
  gate.close(10_000)
  const controller = new AbortController()
  const late = gate.pass(controller.signal)
  const outcome = await Promise.race([
    late.then(() => 'passed'),
    new Promise((resolve) => setTimeout(resolve, 150, 'waits')),
  ])
  expect(outcome).toBe('waits')
  controller.abort(new Error('enough'))
  await expect(late).rejects.toThrow('enough')
})

test('a first one that fails before its time is over makes nobody wait longer than it says', async () => {
  const gate = createGate()
  gate.close(1)
  await gate.pass(never)
  gate.close(1)
  expect(await isLetIn(gate)).toBe(true)
})

test('a first one that gives up lets another one go', async () => {
  const gate = createGate()
  gate.close(1)
  await gate.pass(never)
  gate.leave()
  expect(await isLetIn(gate)).toBe(true)
})

/** Within a second; who goes first may take five. */
function isLetIn(gate: ReturnType<typeof createGate>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, 1000, false))
  return Promise.race([gate.pass(never).then(() => true), late])
}
