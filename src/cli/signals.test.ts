import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { watchSignals } from './signals.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function watch(interactive: boolean, { attached = true } = {}) {
  const calls: string[] = []
  let now = 0
  const signals = watchSignals({
    interactive,
    say: () => {},
    exit: (code) => void calls.push(`exit ${code}`),
    now: () => now,
  })
  onTestFinished(() => signals.close())
  if (attached) signals.attach({ interrupt: () => calls.push('interrupt'), cancel: () => calls.push('cancel') })
  const later = (ms: number) => {
    now += ms
  }
  return { calls, signals, later }
}

test('at a terminal the first Ctrl-C stops the turn, a second within 2 s everything', () => {
  const { calls, later } = watch(true)
  process.emit('SIGINT')
  later(1900)
  process.emit('SIGINT')
  expect(calls).toEqual(['interrupt', 'cancel'])
})

test('at a terminal two presses far apart stop two turns', () => {
  const { calls, later } = watch(true)
  process.emit('SIGINT')
  later(2100)
  process.emit('SIGINT')
  expect(calls).toEqual(['interrupt', 'interrupt'])
})

test('who presses once more while everything stops is let go at once', () => {
  const { calls } = watch(true)
  for (let n = 0; n < 3; n += 1) process.emit('SIGINT')
  expect(calls).toEqual(['interrupt', 'cancel', 'exit 130'])
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'without a terminal the first %s stops everything, a second one ends the process at once',
  (signal) => {
    const { calls, later } = watch(false)
    process.emit(signal)
    later(50)
    process.emit(signal)
    expect(calls).toEqual(['cancel'])
    later(100)
    process.emit(signal)
    expect(calls).toEqual(['cancel', 'exit 130'])
  },
)

test('what takes too long is ended within 5 s', () => {
  const { calls } = watch(false)
  process.emit('SIGTERM')
  vi.advanceTimersByTime(4999)
  expect(calls).toEqual(['cancel', 'exit 130'])
})

test('before anything runs a signal ends the process at once', () => {
  const { calls } = watch(true, { attached: false })
  process.emit('SIGINT')
  expect(calls).toEqual(['exit 130'])
})

test('once closed it hears no signal and ends nothing', () => {
  const { calls, signals } = watch(false)
  process.emit('SIGTERM')
  signals.close()
  vi.advanceTimersByTime(10_000)
  expect(calls).toEqual(['cancel'])
  expect(process.listenerCount('SIGHUP')).toBe(0)
})
