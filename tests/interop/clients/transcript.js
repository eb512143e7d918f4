// Plays a scenario on a beanstalk client of Node.js, as transcript.py does for Python's.

const { readFileSync } = require("node:fs");

/** Do each step; `open(port)` gives the commands that the client has, by beanstalkd's words. */
exports.play = async (open) => {
  const [port, path] = process.argv.slice(2);
  const clients = {};
  for (const [name, command, ...given] of JSON.parse(readFileSync(path))) {
    const commands = (clients[name] ??= await open(Number(port)));
    const step = [name, command, ...given.map(shown)].join(" ");
    if (command === "drain") {
      await writeDown(step, () => drain(commands));
    } else if (commands[command] === undefined) {
      console.log(`${step} -> lacking`);
    } else {
      await writeDown(step, () => commands[command](...given));
    }
    if (command === "close") delete clients[name];
  }
  console.log("done");
  process.exit(0);
};

function shown(seen) {
  const text = JSON.stringify(seen) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}... ${text.length}` : text;
}

/** Say what a step returns, figure by figure, or what it throws. */
async function writeDown(step, call) {
  try {
    const seen = await call();
    if (seen !== null && typeof seen === "object" && !Array.isArray(seen)) {
      for (const [field, value] of Object.entries(seen)) {
        console.log(`${step} -> ${field} ${shown(value)}`);
      }
    } else {
      console.log(`${step} -> ${shown(seen)}`);
    }
  } catch (error) {
    console.log(`${step} -> ${error.name ?? ""} ${error.code ?? ""} ${error.message ?? error}`);
  }
}

/** Tell the server to refuse puts, and put until one is refused. */
async function drain(commands) {
  const seen = await commands.stats();
  process.kill(Number(seen.pid), "SIGUSR1");
  for (;;) await commands.put("drained", 0, 0, 1);
}
