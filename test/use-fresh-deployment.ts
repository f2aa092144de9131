import { useFreshDeployment } from "./fresh-deployment.ts";

/** Of the projects whose every test needs a deployment. */
useFreshDeployment();
