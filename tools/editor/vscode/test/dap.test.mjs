// `ptxsim dap` as the client that Microsoft's own adapters are tested with drives it: `npm test`, with `ptxsim` on the PATH.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { DebugClient } from "@vscode/debugadapter-testsupport";

const samples = join(dirname(fileURLToPath(import.meta.url)), "../../../../samples");
const gemm = join(samples, "mma_gemm_conflicts.ptx");
const lines = readFileSync(gemm, "utf8").split("\n");
const product = lines.findIndex((text) => text.trim().startsWith("mma.sync")) + 1;
const SECONDS = 60_000;
let client;

async function connected() {
  client = new DebugClient("ptxsim", "dap", "ptxsim");
  client.defaultTimeout = SECONDS;
  await client.start();
}
async function stopAt(move) {
  const [stopped] = await Promise.all([client.waitForEvent("stopped", SECONDS), move]);
  const { stackFrames } = (await client.stackTraceRequest({ threadId: stopped.body.threadId })).body;
  return { ...stopped.body, frame: stackFrames[0] };
}

test("a condition, a watch, fragments, steps both ways", async (t) => {
  await connected();
  t.after(() => client.stop());
  const told = await client.initializeRequest();
  assert.ok(told.body.supportsStepBack && told.body.supportsConditionalBreakpoints);
  const ready = client.waitForEvent("initialized", SECONDS);
  const launched = client.launchRequest({ program: gemm, stopOnEntry: true });
  await ready;
  const breakpoints = [{ line: product, condition: "lane == 3 && warp == 1" }];
  const set = await client.setBreakpointsRequest({ source: { path: gemm }, breakpoints });
  assert.deepEqual(set.body.breakpoints, [{ verified: true, line: product }]);
  const entry = await stopAt(client.configurationDoneRequest());
  await launched;
  assert.equal(entry.reason, "entry");

  const stop = await stopAt(client.continueRequest({ threadId: entry.threadId }));
  assert.equal(stop.reason, "breakpoint");
  assert.equal(stop.frame.line, product);
  const watch = { expression: "lane + warp", frameId: stop.frame.id, context: "watch" };
  assert.equal((await client.evaluateRequest(watch)).body.result, "4 in lane 3");
  const { scopes } = (await client.scopesRequest({ frameId: stop.frame.id })).body;
  const reference = scopes.find((scope) => scope.name === "Operands").variablesReference;
  const operands = (await client.variablesRequest({ variablesReference: reference })).body.variables;
  assert.equal(operands.find((one) => one.name === "a").value, "16x16 float16");

  const { threadId } = stop;
  const back = await stopAt(client.stepBackRequest({ threadId }));
  assert.ok(back.frame.line < product);
  const again = await stopAt(client.nextRequest({ threadId }));
  assert.equal(again.frame.line, product);
  const first = await stopAt(client.reverseContinueRequest({ threadId }));
  assert.equal(first.reason, "entry");
});

test("a finding is where it stops", async (t) => {
  await connected();
  t.after(() => client.stop());
  const program = join(samples, "broken", "misaligned_ldmatrix.ptx");
  const stop = client.waitForEvent("stopped", SECONDS);
  await Promise.all([client.configurationSequence(), client.launch({ program, stopOnEntry: false })]);
  const { reason, description, threadId } = (await stop).body;
  assert.deepEqual([reason, description], ["exception", "misaligned-address"]);
  const { stackFrames } = (await client.stackTraceRequest({ threadId })).body;
  assert.match(readFileSync(program, "utf8").split("\n")[stackFrames[0].line - 1], /ldmatrix/);
});
